/** A reply that comes as a stream of server-sent events: from bytes, split anywhere, to an answer. */
import type { ModelRequest } from '../../rollout/ports.ts';
import { AnswerError, streamedFailure } from '../http/failures.ts';
import { EventStreamReader } from '../http/sse.ts';
import type { AnswerBuilder, TextField } from './answer.ts';
import { ChunkTemplate } from './chunkTemplate.ts';
import { parseObject } from './parseObject.ts';

export class StreamedReply {
  readonly #builder: AnswerBuilder;
  readonly #request: ModelRequest;
  readonly #onText: (text: string) => void;
  readonly #template = new ChunkTemplate();
  readonly #reader = new EventStreamReader(
    (data) => this.#chunk(data),
    (lines, at) => this.#template.skim(lines, at, this.#add),
  );
  #done = false;

  /** `onText` gets the text of what arrived together, as it is added to `builder`. */
  constructor(builder: AnswerBuilder, request: ModelRequest, onText: (text: string) => void) {
    this.#builder = builder;
    this.#request = request;
    this.#onText = onText;
  }

  /** Throws AnswerError for an error that the endpoint sends, once everything before it is added. */
  push(bytes: Buffer): void {
    this.#reader.push(bytes);
  }

  /** Handles the end of the bytes. Throws AnswerError if the reply is not complete. */
  end(): void {
    this.#reader.end();
    if (!this.#done && !this.#builder.finished)
      throw new AnswerError({ what: 'down', name: 'cut', text: 'the response ended unexpectedly' });
  }

  readonly #add = (field: TextField, text: string): void => {
    this.#builder.text(field, text);
    this.#onText(text);
  };

  #chunk(data: string): void {
    if (data === '[DONE]') {
      this.#done = true;
      return;
    }
    const plain = this.#template.match(data);
    if (plain !== undefined) {
      this.#add(plain.field, plain.text);
      return;
    }
    const chunk = parseObject(data);
    if ('error' in chunk && chunk['error'] !== null && chunk['error'] !== undefined)
      throw new AnswerError(streamedFailure(chunk['error'], this.#request, Date.now()));
    this.#onText(this.#builder.chunk(chunk));
    this.#template.learn(data, chunk);
  }
}
