/**
 * The images of pods by their digests, as kubelets report them for running pods, so that all pods of a batch run the
 * same content. Nothing is asked of a registry, and an image that can be had only by its name is used by its name.
 */

import type { Pod } from '../../kubernetes/access/objects.ts';
import { hasDigest, withDigest } from '../../kubernetes/images/imageDigest.ts';

export class ImagePins {
  /** By name: the same image with its digest. */
  readonly #pins = new Map<string, string>();
  /** Names whose digest some node could not pull. */
  readonly #unusable = new Set<string>();

  /** Learns from a pod what its images are. The first digest of a name stays. */
  learn(pod: Pod): void {
    const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
    const specified = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    for (const { name, imageID } of statuses) {
      const named = specified.find((container) => container.name === name)?.image ?? '';
      const pinned = withDigest(named, imageID);
      if (pinned !== undefined && pinned !== named && !this.#pins.has(named)) this.#pins.set(named, pinned);
    }
  }

  /** Returns the image to use for a name. */
  of(image: string, pullPolicy: string | undefined): string {
    // Nodes that never pull have images by the names they were loaded with.
    if (pullPolicy === 'Never' || this.#unusable.has(image)) return image;
    return this.#pins.get(image) ?? image;
  }

  /** Returns the name of a pinned image that a node cannot pull, which is used by its name from now on. */
  giveUp(image: string): string | undefined {
    if (!hasDigest(image)) return undefined;
    const [named] = [...this.#pins].find(([, pinned]) => pinned === image) ?? [];
    if (named === undefined || this.#unusable.has(named)) return undefined;
    this.#unusable.add(named);
    return named;
  }
}
