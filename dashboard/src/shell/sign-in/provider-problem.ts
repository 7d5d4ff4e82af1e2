const NAME = "sign-in-problem";

/** Takes the reason out of the address that the server sends a browser to when the provider has not signed it in. */
export function takeProviderProblem(): string | undefined {
  const address = new URL(location.href);
  const problem = address.searchParams.get(NAME) ?? undefined;
  address.searchParams.delete(NAME);
  if (problem !== undefined) history.replaceState(history.state, "", address);
  return problem;
}
