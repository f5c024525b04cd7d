/** kube-linter finds nothing in any form of the manifests but what is documented with its reason. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { accessRoles } from '../../../../src/kubernetes/identity/roles.ts';
import { resolveOptions } from '../../../../src/kubernetes/install/options.ts';
import { documents, renderManifests } from '../../../../src/kubernetes/install/render/render.ts';
import { INSTALLATIONS } from '../../../support/installations.ts';

const LINTER = process.env['ROLLOUT_KUBE_LINTER'] ?? 'kube-linter';
const DOCUMENTED = new URL('../../../../docs/decisions/12-manifest-findings.md', import.meta.url);

const report = z.object({
  Checks: z.array(z.unknown()),
  Reports: z
    .array(
      z.object({
        Check: z.string(),
        Object: z.object({
          K8sObject: z.object({ Name: z.string(), GroupVersionKind: z.object({ Kind: z.string() }) }),
        }),
      }),
    )
    .nullable(),
});

const skip =
  spawnSync(LINTER, ['version']).status === 0
    ? false
    : 'kube-linter is not on the PATH, and ROLLOUT_KUBE_LINTER does not name it';

test('kube-linter finds what is documented, and nothing else', { skip }, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-lint-'));
  try {
    const archive = { sha: 'a'.repeat(64), packed: Buffer.alloc(1000) };
    for (const [name, input] of Object.entries(INSTALLATIONS)) {
      const options = resolveOptions(input);
      writeFileSync(
        path.join(folder, `${name.replaceAll(/\W+/g, '-')}.yaml`),
        renderManifests({ options, archive, namespace: 'team' }),
      );
    }
    writeFileSync(path.join(folder, 'roles.yaml'), documents(accessRoles('team')));
    // Without another installation's objects next to it, each file is a cluster of its own.
    const found = Object.keys(INSTALLATIONS)
      .map((name) => path.join(folder, `${name.replaceAll(/\W+/g, '-')}.yaml`))
      .concat(path.join(folder, 'roles.yaml'))
      .flatMap((file) => {
        const ran = spawnSync(LINTER, ['lint', '--format', 'json', file], { encoding: 'utf8', maxBuffer: 1 << 26 });
        const { Checks, Reports } = report.parse(JSON.parse(ran.stdout));
        assert.ok(Checks.length > 20, 'it has its default checks');
        return (Reports ?? []).map(({ Check, Object: { K8sObject } }) =>
          [Check, `${K8sObject.GroupVersionKind.Kind} ${K8sObject.Name}`].join(' | '),
        );
      });
    const rows = readFileSync(DOCUMENTED, 'utf8').matchAll(/^\| ([a-z-]+) \| (\w+ [a-z-]+) \| .{20,} \|$/gm);
    const documented = Array.from(rows, ([, check, object]) => `${check ?? ''} | ${object ?? ''}`);
    assert.deepEqual([...new Set(found)].sort(), documented.sort());
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
