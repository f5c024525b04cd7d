/** Port-forwards of a fake API server: its pods are ports of this machine. */
import net from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { KubeApi } from './kubeApi.ts';

/** Makes the API server forward to ports of this machine. Pods that are not among `pods` do not exist. */
export function servePortForwards(api: KubeApi, pods: Set<string>, seen: string[] = []): Set<WebSocket> {
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'v4.channel.k8s.io' });
  const open = new Set<WebSocket>();
  api.server.on('upgrade', (request, raw, head) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    const pod = url.pathname.split('/')[6] ?? '';
    seen.push(pod);
    if (!pods.has(pod)) {
      const body = JSON.stringify({
        kind: 'Status',
        code: 404,
        reason: 'NotFound',
        message: `pods "${pod}" not found`,
        details: { name: pod, kind: 'pods' },
      });
      raw.end(
        `HTTP/1.1 404 Not Found\r\ncontent-length: ${String(Buffer.byteLength(body))}\r\nconnection: ` +
          `close\r\n\r\n${body}`,
      );
      return;
    }
    sockets.handleUpgrade(request, raw, head, (socket) => {
      open.add(socket);
      bridge(socket, Number(url.searchParams.get('ports')));
    });
  });
  return open;
}

function bridge(socket: WebSocket, port: number): void {
  const number = Buffer.alloc(2);
  number.writeUInt16LE(port);
  for (const channel of [0, 1]) socket.send(Buffer.concat([Buffer.from([channel]), number]));
  const target = net.connect(port, '127.0.0.1');
  target.on('data', (data) => socket.send(Buffer.concat([Buffer.from([0]), data])));
  target.on('error', (error) =>
    socket.send(
      Buffer.concat([Buffer.from([1]), Buffer.from(`error forwarding port ${String(port)}: ${error.message}`)]),
    ),
  );
  target.on('close', () => socket.close());
  socket.on('message', (data: Buffer) => target.write(data.subarray(1)));
  socket.on('close', () => target.destroy());
}
