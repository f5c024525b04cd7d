/** Puts the programs of this installation into immutable ConfigMaps, in pieces that fit, named after their content. */
import { sha256Hex } from '../../../common/hash.ts';
import type { KubeObject } from '../../access/objects.ts';
import { NAMES } from '../../names.ts';
import type { Archive } from '../../programs/archive.ts';
import { SERVER_BOOTSTRAP } from '../../programs/serverBootstrap.ts';
import { object } from './object.ts';

/**
 * `kubectl apply` and Argo CD repeat an object in an annotation of it, and annotations hold 262,144 bytes: enough for
 * this as base64, and for the bootstrap.
 */
const PIECE_BYTES = 180_000;

const BOOTSTRAP = 'bootstrap.mjs';
/** Key of a piece in its ConfigMap. */
const PIECE = 'piece';

export interface ProgramMaps {
  readonly objects: readonly KubeObject[];
  /** Sources of the volume that joins them: the bootstrap and the pieces `0`, `1`, … */
  readonly sources: readonly Readonly<Record<string, unknown>>[];
  /** sha256 of the unpacked content. */
  readonly sha: string;
}

export function programMaps(archive: Archive, namespace: string): ProgramMaps {
  const count = Math.ceil(archive.packed.length / PIECE_BYTES);
  const whole = [Buffer.from(`${PIECE_BYTES}\n${SERVER_BOOTSTRAP}`), archive.packed];
  const hash = sha256Hex(Buffer.concat(whole)).slice(0, 12);
  const objects: KubeObject[] = [];
  const sources: Record<string, unknown>[] = [];
  for (let number = 0; number < count; number++) {
    const name = `${NAMES.programs}-${hash}-${number}`;
    const piece = archive.packed.subarray(number * PIECE_BYTES, (number + 1) * PIECE_BYTES);
    objects.push(
      object(
        'ConfigMap',
        name,
        { namespace, component: 'server' },
        {
          immutable: true,
          ...(number === 0 ? { data: { [BOOTSTRAP]: SERVER_BOOTSTRAP } } : {}),
          binaryData: { [PIECE]: piece.toString('base64') },
        },
      ),
    );
    const items = [
      ...(number === 0 ? [{ key: BOOTSTRAP, path: BOOTSTRAP }] : []),
      { key: PIECE, path: String(number) },
    ];
    sources.push({ configMap: { name, items } });
  }
  return { objects, sources, sha: archive.sha };
}
