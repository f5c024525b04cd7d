/** A fake Kubernetes API server. The test defines its responses; its kubeconfig leads to it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface KubeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  /** Parsed as JSON; undefined without a body. */
  readonly body: unknown;
}

/** A whole response, or a function that writes one freely (a watch). */
export type KubeReply =
  | { readonly status?: number; readonly body: unknown; readonly headers?: Record<string, string> }
  | ((response: http.ServerResponse) => void);

export interface KubeApi {
  readonly url: string;
  /** The kubeconfig file, with the contexts `test` (current, namespace `ns`) and `other`. */
  readonly kubeconfig: string;
  readonly requests: KubeRequest[];
  readonly server: http.Server;
  /** The last handler passed answers from now on. */
  answer: (request: KubeRequest) => KubeReply;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startKubeApi(
  answer: (request: KubeRequest) => KubeReply = () => ({ body: {} }),
): Promise<KubeApi> {
  const requests: KubeRequest[] = [];
  const server = http.createServer((incoming, response) => {
    let text = '';
    incoming.setEncoding('utf8');
    incoming.on('data', (piece: string) => (text += piece));
    incoming.on('end', () => {
      const url = new URL(incoming.url ?? '/', 'http://localhost');
      const request: KubeRequest = {
        method: incoming.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: incoming.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
      requests.push(request);
      const reply = api.answer(request);
      if (typeof reply === 'function') {
        reply(response);
        return;
      }
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers });
      response.end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(path.join(tmpdir(), 'kube-api-'));
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const kubeconfig = path.join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigText(url, 'first-token'));
  const api: KubeApi = {
    url,
    kubeconfig,
    requests,
    server,
    answer,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
  return api;
}

export function kubeconfigText(server: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'fake', cluster: { server } }],
    users: [{ name: 'somebody', user: { token } }],
    contexts: [
      { name: 'test', context: { cluster: 'fake', user: 'somebody', namespace: 'ns' } },
      { name: 'other', context: { cluster: 'fake', user: 'somebody' } },
    ],
  });
}

/** A failure as an API server reports it. */
export function statusReply(
  code: number,
  reason: string,
  message: string,
  details?: Record<string, unknown>,
): KubeReply {
  return {
    status: code,
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      status: 'Failure',
      message,
      reason,
      code,
      ...(details === undefined ? {} : { details }),
    },
  };
}
