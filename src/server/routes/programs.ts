/** Serves the programs that workers in pods run, by their hash: the pods contain only Node.js. */
import { StudioError } from '../../common/errors.ts';
import { type Call, param } from '../http/call.ts';
import type { RouteHandler } from '../http/router.ts';

export interface Programs {
  /** sha256 of the archive, unpacked. */
  readonly sha: string;
  readonly packed: Uint8Array;
}

export function programRoutes(programs: Programs | undefined): RouteHandler[] {
  return [
    {
      method: 'GET',
      path: '/v1/programs/:sha',
      workers: 'enrollment',
      handle: (call) => get(programs, call),
    },
  ];
}

function get(programs: Programs | undefined, call: Call): Promise<undefined> {
  const sha = param(call, 'sha');
  if (programs?.sha !== sha)
    return Promise.reject(new StudioError('not_found', `There are no programs with the hash ${sha.slice(0, 64)}.`));
  call.response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': programs.packed.length,
    'cache-control': 'private, immutable',
    'x-content-type-options': 'nosniff',
  });
  call.response.end(programs.packed);
  return Promise.resolve(undefined);
}
