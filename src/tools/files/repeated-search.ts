/** Counts how often the very same search is made while nothing else happens. */
export interface RepeatedSearch {
  /** How often it was made in a row, this time included. */
  count(key: string): number;
  /** Something was done that may change what is found. */
  reset(): void;
}

export function createRepeatedSearch(): RepeatedSearch {
  let last: string | undefined;
  let times = 0;
  return {
    count(key) {
      times = key === last ? times + 1 : 1;
      last = key;
      return times;
    },
    reset() {
      last = undefined;
    },
  };
}
