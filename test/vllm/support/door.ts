/** One of several addresses of an engine, so that a router has replicas: it counts what comes, and can go away. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export const SESSION_HEADER = 'x-session-id';

export class Door {
  readonly #server: http.Server;
  readonly #agent = new http.Agent({ keepAlive: true });
  readonly #port: number;
  /** Model calls by the session that they named. */
  readonly sessions = new Map<string, number>();
  /** Other requests than model calls: method and path. */
  readonly others: string[] = [];
  /** Model calls that are not answered. */
  open = 0;
  /** Model calls that it did not answer to the end. */
  cut = 0;

  private constructor(server: http.Server, port: number) {
    this.#server = server;
    this.#port = port;
  }

  /** Opens an address for the engine at `port`. */
  static async open(port: number): Promise<Door> {
    const door: Door = new Door(
      http.createServer((request, response) => door.#pass(request, response)),
      port,
    );
    await door.#listen(0);
    return door;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#address}`;
  }

  get calls(): number {
    return [...this.sessions.values()].reduce((sum, calls) => sum + calls, 0);
  }

  #address = 0;

  /** As if the engine died: calls are cut, and nothing listens. */
  async goAway(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async comeBack(): Promise<void> {
    await this.#listen(this.#address);
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.goAway();
    this.#agent.destroy();
  }

  async #listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.#address = (this.#server.address() as AddressInfo).port; // a TCP server has a numeric port
  }

  #pass(request: http.IncomingMessage, response: http.ServerResponse): void {
    const { method, url = '', headers } = request;
    const isCall = url === '/v1/chat/completions';
    if (isCall) {
      const session = headers[SESSION_HEADER];
      const name = typeof session === 'string' ? session : '';
      this.sessions.set(name, (this.sessions.get(name) ?? 0) + 1);
      this.open++;
    } else this.others.push(`${method} ${url.split('?', 1)[0]}`);
    const upstream = http.request(
      { host: '127.0.0.1', port: this.#port, path: url, method, headers, agent: this.#agent },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    upstream.on('error', () => response.destroy());
    request.pipe(upstream);
    response.on('close', () => {
      if (isCall) this.open--;
      if (response.writableFinished) return;
      if (isCall) this.cut++;
      upstream.destroy();
    });
  }
}
