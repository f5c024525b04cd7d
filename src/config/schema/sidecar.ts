/**
 * Schema of a sidecar: the fields of a Kubernetes container that a batch may set. All others could reach beyond the
 * sidecar: other Secrets, the mounts of our own containers, the node, or more rights.
 */
import { z } from 'zod';
import { choice, expects, fault, flag, group, listOf, text, whole } from './values.ts';

/** Names of our own containers. */
const TAKEN: readonly string[] = ['worker', 'tools', 'prepare'];
/** Name of the volume that each sidecar has of its own. */
export const SCRATCH = 'scratch';
/** A value that consists only of an environment variable. */
const ENV_VALUE = /^\$\{env:([^}]+)\}$/;
const AMOUNT = /^\d+(\.\d+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/;

/** A quantity of a resource. */
export const quantity = (example: string): z.ZodUnion<readonly [z.ZodNumber, z.ZodString]> => {
  const expected = expects('a Kubernetes quantity', example);
  return z.union([z.number(expected).min(0, expected), z.string(expected).regex(AMOUNT, expected)], expected);
};

const texts = (what: string, example: string) => listOf(text(example), what, `[${example}]`);
const portNumber = z.union(
  [whole(1, 8080).max(65_535, expects('a port', '8080')), text('http')],
  expects('a port', '8080'),
);
const exec = group(
  { command: texts('a command', '"true"').describe('The program with its arguments.') },
  'a command',
  '{ command: ["true"] }',
);

const variable = group(
  {
    name: text('MODE').describe('The name of the variable.'),
    value: z
      .string(expects('text', 'production'))
      .optional()
      .describe('Its value: text, or `${env:X}`, which the container gets as a secret.'),
    valueFrom: group(
      {
        fieldRef: group(
          {
            fieldPath: choice([
              'metadata.name',
              'metadata.namespace',
              'metadata.uid',
              'status.podIP',
              'spec.nodeName',
            ]).describe('Which field, as Kubernetes names it.'),
          },
          'a field of the pod',
          '{ fieldPath: metadata.name }',
        ).describe('The field of the pod that has the value.'),
      },
      'a field of the pod',
      '{ fieldRef: { fieldPath: metadata.name } }',
    )
      .optional()
      .describe('A field of the pod.'),
  },
  'a variable',
  '{ name: MODE, value: production }',
);

const port = group(
  {
    name: text('http').optional().describe('The name of the port.'),
    containerPort: whole(1, 8080)
      .max(65_535, expects('a port', '8080'))
      .describe('The port that the container listens on.'),
    protocol: choice(['TCP', 'UDP', 'SCTP']).optional().describe('The protocol of the port. Default: TCP.'),
  },
  'a port',
  '{ containerPort: 8080 }',
);

const probe = group(
  {
    exec: exec.optional().describe('Runs a command in the container. It succeeds if the command exits with 0.'),
    httpGet: group(
      {
        path: text('/healthz').optional().describe('The path to request.'),
        port: portNumber.describe('The port, or its name.'),
        scheme: choice(['HTTP', 'HTTPS']).optional().describe('HTTP or HTTPS. Default: HTTP.'),
        httpHeaders: listOf(
          group(
            { name: text('accept').describe('The name of the header.'), value: z.string().describe('Its value.') },
            'a header',
            '{ name: accept, value: text/plain }',
          ),
          'a list of headers',
          '[]',
        )
          .optional()
          .describe('Headers of the request.'),
      },
      'a request to the container',
      '{ path: /healthz, port: 8080 }',
    )
      .optional()
      .describe('Sends an HTTP request. It succeeds with a status from 200 to 399.'),
    tcpSocket: group({ port: portNumber.describe('The port, or its name.') }, 'a port', '{ port: 8080 }')
      .optional()
      .describe('Connects to a port.'),
    grpc: group(
      {
        port: whole(1, 8080).describe('The port.'),
        service: z.string().optional().describe('The service to ask about. Default: the whole server.'),
      },
      'a port',
      '{ port: 8080 }',
    )
      .optional()
      .describe('Asks a gRPC server for its health.'),
    initialDelaySeconds: whole(0, 5)
      .optional()
      .describe('Seconds from the start of the container to the first probe. Default: 0.'),
    periodSeconds: whole(1, 5).optional().describe('Seconds between probes. Default: 10.'),
    timeoutSeconds: whole(1, 5).optional().describe('Seconds until a probe fails. Default: 1.'),
    successThreshold: whole(1, 1)
      .optional()
      .describe('Successes in a row after a failure until the probe counts as successful. Default: 1.'),
    failureThreshold: whole(1, 3)
      .optional()
      .describe('Failures in a row until the probe counts as failed. Default: 3.'),
    terminationGracePeriodSeconds: whole(1, 30)
      .optional()
      .describe('Seconds that the container has to end after a failed probe.'),
  },
  'a probe',
  '{ httpGet: { path: /healthz, port: 8080 } }',
);

const hook = group(
  {
    exec: exec.optional().describe('Runs a command in the container.'),
    sleep: group({ seconds: whole(1, 5).describe('How long.') }, 'seconds', '{ seconds: 5 }')
      .optional()
      .describe('Waits.'),
  },
  'a command',
  '{ exec: { command: ["true"] } }',
);

const amounts = z.record(z.string(), quantity('500m'), expects('amounts by name', '{ cpu: 1, memory: 2Gi }'));

const fixed = (value: boolean) => z.literal(value, expects(String(value), String(value)));
const security = group(
  {
    runAsUser: whole(1, 1000).optional().describe('The user of the container. Default: the user of its image.'),
    runAsGroup: whole(1, 1000).optional().describe('The group of the container.'),
    runAsNonRoot: fixed(true).optional().describe('Always true.'),
    allowPrivilegeEscalation: fixed(false).optional().describe('Always false.'),
    readOnlyRootFilesystem: flag
      .optional()
      .describe('`false`: the container may change the files of its image. Default: true.'),
    capabilities: group(
      { drop: listOf(choice(['ALL']), 'ALL', '[ALL]').describe('Always all.') },
      'the capabilities to drop',
      '{ drop: [ALL] }',
    )
      .optional()
      .describe('Always dropped.'),
    seccompProfile: group(
      { type: choice(['RuntimeDefault']).describe('Always the default of the runtime.') },
      'a profile',
      '{ type: RuntimeDefault }',
    )
      .optional()
      .describe('Always the default of the runtime.'),
  },
  'a security context',
  '{ runAsUser: 1000 }',
);

const mount = group(
  {
    name: choice([SCRATCH]).describe('The volume: each sidecar has one, which ends with its pod.'),
    mountPath: z
      .string(expects('an absolute path', '/data'))
      .regex(/^\/[^:]*[^:/][^:]*$/, expects('an absolute path', '/data'))
      .describe('Folder of the container that can be written to, besides `/tmp`.'),
  },
  'a folder that can be written to',
  '{ name: scratch, mountPath: /data }',
);

const EXAMPLE = '{ name: browser, image: registry.example.org/browser:1 }';

export const sidecar = group(
  {
    name: text('browser')
      .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, expects('a name like browser-1', 'browser'))
      .describe('The name of the container.'),
    image: text('registry.example.org/browser:1', 'the name of an image').describe('Its image.'),
    imagePullPolicy: choice(['IfNotPresent', 'Always', 'Never']).optional().describe('When a node pulls the image.'),
    command: texts('a command', 'node').optional().describe('Its command. Default: the entry point of its image.'),
    args: texts('arguments', '--verbose').optional().describe('Arguments of the command.'),
    workingDir: text('/app').optional().describe('The working directory of the command.'),
    env: listOf(variable, 'a list of variables', '[{ name: MODE, value: production }]')
      .optional()
      .describe('Environment variables.'),
    ports: listOf(port, 'a list of ports', '[{ containerPort: 8080 }]')
      .optional()
      .describe('Ports that the container listens on: `containerPort`, `name`, `protocol`.'),
    resources: group(
      {
        requests: amounts.optional().describe('What the node must have free.'),
        limits: amounts.optional().describe('What the container may use.'),
      },
      'requests and limits',
      '{ limits: { memory: 2Gi } }',
    )
      .optional()
      .describe('`requests` and `limits`, e.g. of `cpu` and `memory`.'),
    startupProbe: probe
      .optional()
      .describe('When the worker may start: `exec`, `httpGet`, `tcpSocket`, or `grpc`. Default: the readiness probe.'),
    readinessProbe: probe.optional().describe('When the container is ready.'),
    livenessProbe: probe.optional().describe('When the container is restarted.'),
    lifecycle: group(
      {
        postStart: hook.optional().describe('Runs after the start of the container.'),
        preStop: hook.optional().describe('Runs before its end.'),
      },
      'commands',
      '{ preStop: { exec: { command: ["true"] } } }',
    )
      .optional()
      .describe('Commands that run after its start (`postStart`) and before its end (`preStop`).'),
    securityContext: security
      .optional()
      .describe('The user of the container, and what it may change. It never gets root or rights.'),
    volumeMounts: listOf(mount, 'a list of folders', '[{ name: scratch, mountPath: /data }]')
      .optional()
      .describe('Folders that the container can write to, besides `/tmp`.'),
  },
  'a container',
  EXAMPLE,
).superRefine((container, context) => {
  if (TAKEN.includes(container.name))
    fault(
      context,
      `a sidecar cannot be named \`${container.name}\`, like a container that runs rollouts`,
      'Choose another name.',
      { path: ['name'] },
    );
  for (const path of misplacedVariables(container)) {
    fault(
      context,
      'in a sidecar, `${env:…}` is only supported as the whole `value` of an entry in `env`',
      'Write `env: [{ name: X, value: "${env:X}" }]`. The container gets the value as a secret.',
      { path },
    );
  }
});
export type Sidecar = z.output<typeof sidecar>;

/** Returns paths of strings with an environment variable, except whole values of entries in `env`. */
function misplacedVariables(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value === 'string') {
    if (!value.includes('${env:')) return [];
    const fits = path.length === 3 && path[0] === 'env' && path[2] === 'value' && ENV_VALUE.test(value);
    return fits ? [] : [[...path]];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    misplacedVariables(item, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}
