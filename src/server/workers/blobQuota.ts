/**
 * Limits what the workers may store as blobs for each rollout: a tool that writes without end, or somebody with the
 * token of a worker, must not fill the disk of the store. Counted since the start of this server.
 */
import { StudioError } from '../../common/errors.ts';
import { bytes as bytesText } from '../../common/units.ts';

/** Rollouts whose bytes are remembered. Forgetting an old one only gives it its quota again. */
const REMEMBERED = 100_000;

export class BlobQuota {
  readonly #most: number;
  readonly #used = new Map<string, number>();

  /** @param most Bytes per rollout. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Throws StudioError `too_large` if the rollout may not store so many more bytes. */
  check(rollout: string, bytes: number): void {
    if ((this.#used.get(rollout) ?? 0) + bytes <= this.#most) return;
    throw new StudioError(
      'too_large',
      `Rollout ${rollout} has more than ${bytesText(this.#most)} of large values, such as the output of its tools.`,
      { hint: 'Let its tools return less, or start the server with a larger --rollout-gb.' },
    );
  }

  /** Passes the bytes of a blob on while the rollout may store them. What was not stored does not count. */
  async *metered(rollout: string, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let counted = 0;
    let complete = false;
    try {
      for await (const chunk of bytes) {
        this.check(rollout, chunk.length);
        this.#add(rollout, chunk.length);
        counted += chunk.length;
        yield chunk;
      }
      complete = true;
    } finally {
      if (!complete) this.#add(rollout, -counted);
    }
  }

  #add(rollout: string, bytes: number): void {
    const used = (this.#used.get(rollout) ?? 0) + bytes;
    this.#used.delete(rollout);
    this.#used.set(rollout, used);
    if (this.#used.size > REMEMBERED) this.#used.delete(this.#used.keys().next().value ?? '');
  }
}
