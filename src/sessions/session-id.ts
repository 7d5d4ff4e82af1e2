import { randomBytes } from "node:crypto";

/** A new id that sorts by time: `YYYYMMDD_HHMMSS_<6 hex>`, in the local time of the machine. */
export function createSessionId(now: number): string {
  const date = new Date(now);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`;
  const time = `${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
  return `${day}_${time}_${randomBytes(3).toString("hex")}`;
}
