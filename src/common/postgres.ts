/** Returns whether a store is a PostgreSQL URL; every other store is a folder. */
export function isPostgresUrl(store: string): boolean {
  return /^postgres(ql)?:\/\//i.test(store);
}
