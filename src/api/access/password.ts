import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

const COST = { N: 16_384, r: 8, p: 1 };
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const STORED = /^scrypt\$16384\$8\$1\$(?<salt>[\w-]{22})\$(?<key>[\w-]{43})$/;

/** The hash of a password as a string to store. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, salt);
  return ["scrypt", COST.N, COST.r, COST.p, salt.toString("base64url"), key.toString("base64url")].join("$");
}

/** The one account that signs in with a password. */
export interface PasswordAccount {
  /** Takes the same time for a wrong name as for a wrong password. */
  check(name: string, password: string): Promise<boolean>;
}

export function createPasswordAccount(name: string, hash: string): PasswordAccount {
  const { salt = "", key = "" } = STORED.exec(hash)?.groups ?? {};
  const wanted = Buffer.from(key, "base64url");
  return {
    async check(given, password) {
      const derived = await derive(password, Buffer.from(salt, "base64url"));
      const fits = timingSafeEqual(derived, wanted);
      return fits && given === name;
    },
  };
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFKC"), salt, KEY_BYTES, COST, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
