/** Sidecars may set an allow-list of fields, in files and in what any client submits. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { requireHarmlessSidecars } from '../../../src/config/sidecars.ts';

const HARMLESS = {
  name: 'browser',
  image: 'registry.example.org/browser:1',
  imagePullPolicy: 'IfNotPresent',
  command: ['serve'],
  args: ['--port', '8080'],
  workingDir: '/app',
  env: [
    { name: 'MODE', value: 'x' },
    { name: 'KEY', value: '${env:BROWSER_KEY}' },
    { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ],
  ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
  resources: { requests: { cpu: '500m', memory: '1Gi' }, limits: { 'nvidia.com/gpu': 1 } },
  readinessProbe: { httpGet: { path: '/', port: 'http', scheme: 'HTTP' }, periodSeconds: 1, failureThreshold: 9 },
  startupProbe: { exec: { command: ['true'] } },
  livenessProbe: { tcpSocket: { port: 8080 } },
  lifecycle: { preStop: { sleep: { seconds: 1 } } },
  securityContext: {
    runAsUser: 1001,
    runAsNonRoot: true,
    readOnlyRootFilesystem: false,
    capabilities: { drop: ['ALL'] },
  },
  volumeMounts: [{ name: 'scratch', mountPath: '/data' }],
};

/** What each hostile sidecar adds to a harmless one, and what the error names. */
const HOSTILE: readonly [fields: Record<string, unknown>, named: string][] = [
  [{ securityContext: { privileged: true } }, 'securityContext.privileged|`privileged`'],
  [{ securityContext: { runAsUser: 0 } }, 'securityContext.runAsUser'],
  [{ securityContext: { runAsNonRoot: false } }, 'securityContext.runAsNonRoot'],
  [{ securityContext: { allowPrivilegeEscalation: true } }, 'securityContext.allowPrivilegeEscalation'],
  [{ securityContext: { capabilities: { add: ['SYS_ADMIN'], drop: ['ALL'] } } }, '`add`'],
  [{ securityContext: { capabilities: { drop: ['KILL'] } } }, 'capabilities.drop'],
  [{ securityContext: { seccompProfile: { type: 'Unconfined' } } }, 'seccompProfile.type'],
  [{ securityContext: { appArmorProfile: { type: 'Unconfined' } } }, '`appArmorProfile`'],
  [{ securityContext: { procMount: 'Unmasked' } }, '`procMount`'],
  [{ securityContext: { seLinuxOptions: { type: 'spc_t' } } }, '`seLinuxOptions`'],
  [{ env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'db', key: 'url' } } }] }, '`secretKeyRef`'],
  [{ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] }, '`configMapKeyRef`'],
  [{ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.serviceAccountName' } } }] }, 'fieldRef.fieldPath'],
  [{ envFrom: [{ secretRef: { name: 'rollout-studio-tokens' } }] }, '`envFrom`'],
  [{ volumeMounts: [{ name: 'config', mountPath: '/c' }] }, 'volumeMounts\\[0\\].name'],
  [{ volumeMounts: [{ name: 'work', mountPath: '/c' }] }, 'volumeMounts\\[0\\].name'],
  [{ volumeMounts: [{ name: 'scratch', mountPath: '/c', mountPropagation: 'Bidirectional' }] }, '`mountPropagation`'],
  [{ volumeMounts: [{ name: 'scratch', mountPath: '/c', subPathExpr: '../$(X)' }] }, '`subPathExpr`'],
  [{ volumeDevices: [{ name: 'work', devicePath: '/dev/x' }] }, '`volumeDevices`'],
  [{ ports: [{ containerPort: 80, hostPort: 80 }] }, '`hostPort`'],
  [{ hostNetwork: true }, '`hostNetwork`'],
  [{ volumes: [{ name: 'x', hostPath: { path: '/' } }] }, '`volumes`'],
  [{ restartPolicy: 'Never' }, '`restartPolicy`'],
  [{ readinessProbe: { httpGet: { port: 80, host: '169.254.169.254' } } }, '`host`'],
  [{ lifecycle: { postStart: { httpGet: { port: 80, host: '10.0.0.1' } } } }, '`httpGet`'],
  [{ resources: { claims: [{ name: 'gpu' }] } }, '`claims`'],
  [{ command: ['${env:KEY}'] }, 'only supported as the whole `value`'],
  [{ name: 'worker' }, 'cannot be named `worker`'],
  [{ name: 'tools' }, 'cannot be named `tools`'],
  [{ image: '' }, 'image'],
];

function refusal(sidecars: readonly Record<string, unknown>[]): string | undefined {
  const positions = sidecars.map((_, index) => ({ file: 'b.batch.yaml', line: 7 + index, column: 5 }));
  try {
    requireHarmlessSidecars({
      file: 'b.batch.yaml',
      pods: { sidecars: [...sidecars], sidecar_positions: positions },
    });
  } catch (error) {
    assert.ok(StudioError.is(error, 'config'), String(error));
    return error.message;
  }
  return undefined;
}

describe('the sidecars of a submission', () => {
  it('may have every field of the allow-list', () => {
    assert.equal(refusal([HARMLESS]), undefined);
    assert.equal(refusal([{ name: 'b', image: 'x' }]), undefined);
    assert.equal(refusal([]), undefined);
  });

  for (const [fields, named] of HOSTILE)
    it(`may not have ${JSON.stringify(fields)}`, () => {
      const text = refusal([HARMLESS, { name: 'b', image: 'x', ...fields }]);
      assert.match(text ?? '(accepted)', new RegExp(named));
      assert.match(text ?? '', /^b\.batch\.yaml:8:5: \S.* — \S/, 'it says where and what to do');
    });

  it('are also refused without positions, like those of older clients', () => {
    assert.throws(
      () =>
        requireHarmlessSidecars({ file: 'a.batch.yaml', pods: { sidecars: [{ name: 'b', image: 'x', envFrom: [] }] } }),
      /^StudioError: a\.batch\.yaml:1:1: unknown key `envFrom` in `pods\.sidecars\[0\]`/,
    );
  });
});
