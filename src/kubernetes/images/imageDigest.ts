/** Names images by their content: a tag can be moved, a digest cannot. Pure. */

const DIGESTED = /^(?:[a-z-]+:\/\/)?(.+)@(sha256:[0-9a-f]{64})$/;

/**
 * Returns the image `named` with the digest that a kubelet reports for it (`imageID` of a container's status);
 * undefined if that is no digest of its registry, as for images that were loaded onto a node from a file.
 */
export function withDigest(named: string, imageId: string): string | undefined {
  if (hasDigest(named)) return named;
  const [, repository, digest] = DIGESTED.exec(imageId) ?? [];
  if (repository === undefined || digest === undefined || repositoryOf(named) !== repositoryOf(repository))
    return undefined;
  return `${named}@${digest}`;
}

export function hasDigest(image: string): boolean {
  return DIGESTED.test(image);
}

/** Returns the full name of the repository, without tag: `docker.io/library/node` for `node:24`. */
function repositoryOf(image: string): string {
  const untagged = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  const [first = '', ...rest] = untagged.split('/');
  if (rest.length === 0) return `docker.io/library/${untagged}`;
  const hasRegistry = first === 'localhost' || /[.:]/.test(first);
  return hasRegistry ? untagged : `docker.io/${untagged}`;
}
