import type { Closing, ToolEnvironment } from '../tools/environment.ts';

/** The blobs of worlds that a worker has read and parsed, by hash: all sessions share them. */
export abstract class ParsedBlobs<T> implements Closing {
  readonly #read = new Map<string, Promise<T>>();

  protected abstract parse(bytes: Uint8Array): T;

  get(sha: string, { readBlob }: Pick<ToolEnvironment, 'readBlob'>): Promise<T> {
    let reading = this.#read.get(sha);
    if (reading === undefined) {
      reading = readBlob(sha).then((bytes) => this.parse(bytes));
      this.#read.set(sha, reading);
      reading.catch(() => this.#read.delete(sha)); // the next session may succeed
    }
    return reading;
  }

  close(): Promise<void> {
    this.#read.clear();
    return Promise.resolve();
  }
}
