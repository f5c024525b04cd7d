/** The files that users write, by their names: `desk.agent.yaml`, `desk.batch.yml`, `library.world.json`. */
export const FILE_KINDS = ['agent', 'batch', 'world'] as const;
export type FileKind = (typeof FILE_KINDS)[number];

const KIND_OF_NAME = new RegExp(filePattern(...FILE_KINDS), 'i');

/** Returns the kind of a file by its name; undefined for any other file. */
export function fileKind(path: string): FileKind | undefined {
  const name = KIND_OF_NAME.exec(path)?.[1]?.toLowerCase();
  return FILE_KINDS.find((kind) => kind === name);
}

/** Returns the source of an expression that matches names of these kinds; its first group is the kind. */
export function filePattern(...kinds: readonly FileKind[]): string {
  return `\\.(${kinds.join('|')})\\.(?:ya?ml|json)$`;
}

/** Returns a glob for files of a kind in any folder. */
export function fileGlob(kind: FileKind): string {
  return `**/*.${kind}.{yaml,yml,json}`;
}
