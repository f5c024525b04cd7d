/** A policy and a verifier whose answers a test can hold back or refuse, to break what runs between them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createDemoModel } from '../../src/demo/demoModel.ts';
import { answerText, chatEndpoint, type FakeEndpoint } from './endpoint.ts';

type Answer = () => void;

/** Where calls arrive. Each can be answered, held, or refused. */
class Calls {
  received = 0;
  refused = 0;
  /** Calls from this one on are held. */
  #holdFrom = Infinity;
  readonly #held: { readonly answer: Answer; readonly response: ServerResponse }[] = [];
  #onHeld = Promise.withResolvers<undefined>();
  /** Answers the nth call instead; true if it did. */
  refusal: ((nth: number, response: ServerResponse) => boolean) | undefined;

  arrived(response: ServerResponse, answer: Answer): void {
    const nth = ++this.received;
    if (this.refusal?.(nth, response) === true) this.refused += 1;
    else if (nth < this.#holdFrom) answer();
    else {
      this.#held.push({ answer, response });
      this.#onHeld.resolve(undefined);
    }
  }

  /** Holds the nth call from now, and those after it. Resolves when it is there. */
  hold(nth: number): Promise<undefined> {
    this.#holdFrom = this.received + nth;
    this.#onHeld = Promise.withResolvers();
    return this.#onHeld.promise;
  }

  /** Answers what is held, and what comes. Nobody reads the answers of clients that are gone. */
  release(): void {
    this.#holdFrom = Infinity;
    for (const { answer } of this.#held.splice(0)) answer();
  }

  /** Closes the connections of calls that are held, as the end of a process does, and answers what comes. */
  cut(): number {
    this.#holdFrom = Infinity;
    const held = this.#held.splice(0);
    for (const { response } of held) response.destroy();
    return held.length;
  }
}

/** The demo model. */
export class BrokenModel extends Calls implements AsyncDisposable {
  readonly #model = createDemoModel();
  readonly #server = createServer((request, response) => this.#handle(request, response));

  static async start(): Promise<BrokenModel> {
    const model = new BrokenModel();
    await new Promise<void>((resolve) => model.#server.listen(0, '127.0.0.1', resolve));
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const answer = (): void => this.#model.handle(request, response);
    if (request.url?.endsWith('/chat/completions') === true) this.arrived(response, answer);
    else answer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** A judge whose verdict follows from the seed of the attempt: a lost or repeated attempt gets the same one. */
export class BrokenJudge extends Calls implements AsyncDisposable {
  readonly #endpoint: FakeEndpoint;

  private constructor(endpoint: FakeEndpoint) {
    super();
    this.#endpoint = endpoint;
  }

  static async start(): Promise<BrokenJudge> {
    const judge: BrokenJudge = new BrokenJudge(
      await chatEndpoint(({ body }, response) =>
        judge.arrived(response, () =>
          answerText(response, JSON.stringify({ score: (Number(body['seed']) % 5) / 4, explanation: 'by seed' })),
        ),
      ),
    );
    return judge;
  }

  get url(): string {
    return this.#endpoint.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endpoint[Symbol.asyncDispose]();
  }
}
