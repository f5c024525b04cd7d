type Defined<T extends object> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Returns a copy without the members that are undefined. */
export function withoutUndefined<T extends object>(values: T): Defined<T> {
  // The same keys, or fewer.
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
