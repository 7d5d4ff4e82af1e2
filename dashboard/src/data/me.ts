/** What GET `me` says before and after signing in. */
export type Me =
  | { readonly signedIn: false; readonly ways: readonly ("link" | "password")[] }
  | {
      readonly signedIn: true;
      readonly id: string;
      readonly name: string;
      readonly scopes: readonly string[];
      readonly insecure: boolean;
      readonly version: string;
      readonly profile: string;
    };
