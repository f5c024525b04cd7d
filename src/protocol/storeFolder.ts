/** A store that is a folder, as its server and its clients on the same machine see it. */

/** Returns the path of the database in a store's folder. */
export function databaseFile(folder: string): string {
  return `${folder.replace(/[/\\]$/, '')}/store.db`;
}

export function deletedText(store: string): string {
  return `The store ${store} was deleted while its server was running.`;
}
