/**
 * Builds admission policies that confine the server's account beyond what its Role can say: it changes objects of
 * batches only, and pods that it starts use no Secret but that of their batch. Clusters have them from Kubernetes 1.30.
 */
import type { KubeObject } from '../../access/objects.ts';
import { BATCH_NAME_PREFIX, LABEL, labels, NAMES } from '../../names.ts';
import { object } from './object.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
}
interface Validation {
  readonly expression: string;
  readonly message: string;
}

const CHANGES = ['CREATE', 'UPDATE', 'DELETE'] as const;

const BATCH_OBJECTS: readonly Validation[] = [
  {
    expression:
      `(request.operation == 'DELETE' ? oldObject : object).metadata.name.startsWith('${BATCH_NAME_PREFIX}')` +
      ` || (request.resource.resource == 'configmaps' && request.operation != 'DELETE' &&` +
      ` object.metadata.name == '${NAMES.authority}')`,
    message: 'The server may change only objects of batches, and publish its authority.',
  },
  {
    expression: [
      "request.resource.resource != 'networkpolicies' || request.operation == 'DELETE'",
      "(object.spec.policyTypes == ['Egress'] && has(object.spec.podSelector.matchLabels)" +
        ` && object.spec.podSelector.matchLabels['${LABEL.name}'] == '${labels('server')[LABEL.name] ?? ''}'` +
        ' && (!has(object.spec.egress) || object.spec.egress.all(rule, has(rule.to) && rule.to.all(peer,' +
        " !has(peer.ipBlock) || (peer.ipBlock.cidr != '169.254.169.254/32' &&" +
        " (peer.ipBlock.cidr.endsWith('/32') || peer.ipBlock.cidr.endsWith('/128')))))))",
    ].join(' || '),
    message: 'The server may allow only its own pods to reach single addresses and pods.',
  },
];

const POD = 'object.spec.template.spec';
const each = (condition: string): string => `variables.containers.all(container, ${condition})`;

const jobPods = (account: string): readonly Validation[] => [
  {
    expression:
      `!has(${POD}.volumes) || ${POD}.volumes.all(volume, has(volume.emptyDir)` +
      ' || (has(volume.secret) && volume.secret.secretName == variables.own)' +
      ' || (has(volume.configMap) && volume.configMap.name == variables.own))',
    message: 'Pods of a batch may mount only the Secret and the ConfigMap of their batch, and emptyDirs.',
  },
  {
    expression: each(
      '!has(container.envFrom) && (!has(container.env) || container.env.all(entry, !has(entry.valueFrom)' +
        ' || has(entry.valueFrom.fieldRef) || has(entry.valueFrom.resourceFieldRef)' +
        ' || (has(entry.valueFrom.secretKeyRef) && entry.valueFrom.secretKeyRef.name == variables.own)))',
    ),
    message: 'Variables of pods of a batch may come only from the Secret of their batch.',
  },
  {
    expression:
      `has(${POD}.automountServiceAccountToken) && !${POD}.automountServiceAccountToken && ` +
      `!has(${POD}.imagePullSecrets) && has(${POD}.serviceAccountName) && ` +
      `${POD}.serviceAccountName != '${account}'`,
    message: 'Pods of a batch have no account token.',
  },
  {
    expression: ['hostNetwork', 'hostPID', 'hostIPC']
      .map((field) => `!(has(${POD}.${field}) && ${POD}.${field})`)
      .join(' && '),
    message: 'Pods of a batch have namespaces of their own.',
  },
  {
    expression: each(
      'has(container.securityContext) && has(container.securityContext.allowPrivilegeEscalation)' +
        ' && !container.securityContext.allowPrivilegeEscalation' +
        ' && !(has(container.securityContext.privileged) && container.securityContext.privileged)',
    ),
    message: 'Containers of a batch gain no privileges.',
  },
];

/**
 * Returns the policies and their bindings, which belong to the cluster, not to the namespace. `account`: that of the
 * server.
 */
export function admissionPolicies(namespace: string, account: string): KubeObject[] {
  const names = admissionNames(namespace);
  return [
    ...policy(names.objects, namespace, {
      account,
      rules: [
        { apiGroups: ['batch'], resources: ['jobs'], operations: CHANGES },
        { apiGroups: [''], resources: ['secrets', 'configmaps'], operations: CHANGES },
        { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], operations: CHANGES },
        { apiGroups: [''], resources: ['pods'], operations: ['DELETE'] },
      ],
      validations: BATCH_OBJECTS,
    }),
    ...policy(names.pods, namespace, {
      account,
      // The template of a Job never changes.
      rules: [{ apiGroups: ['batch'], resources: ['jobs'], operations: ['CREATE'] }],
      variables: [
        {
          name: 'own',
          expression:
            `has(object.metadata.labels) && '${LABEL.batch}' in object.metadata.labels ? ` +
            `'rollout-' + object.metadata.labels['${LABEL.batch}'] : ''`,
        },
        {
          name: 'containers',
          expression: `${POD}.containers + (has(${POD}.initContainers) ? ${POD}.initContainers : [])`,
        },
      ],
      validations: jobPods(account),
    }),
  ];
}

/** Names of the policies of a namespace; their bindings have the same names. */
export function admissionNames(namespace: string): { readonly objects: string; readonly pods: string } {
  return { objects: `${NAMES.server}-objects.${namespace}`, pods: `${NAMES.server}-pods.${namespace}` };
}

function policy(
  name: string,
  namespace: string,
  {
    account,
    rules,
    variables,
    validations,
  }: {
    readonly account: string;
    readonly rules: readonly Rule[];
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly Validation[];
  },
): KubeObject[] {
  const place = { namespace, component: 'server' } as const;
  return [
    object('ValidatingAdmissionPolicy', name, place, {
      spec: {
        failurePolicy: 'Fail',
        // With all defaults: they are one field, which otherwise each `kubectl apply` would change.
        matchConstraints: {
          matchPolicy: 'Equivalent',
          objectSelector: {},
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
          resourceRules: rules.map((rule) => ({ ...rule, apiVersions: ['v1'], scope: '*' })),
        },
        matchConditions: [
          {
            name: 'is-the-server',
            expression: `request.userInfo.username == 'system:serviceaccount:${namespace}:${account}'`,
          },
        ],
        ...(variables === undefined ? {} : { variables }),
        validations,
      },
    }),
    object('ValidatingAdmissionPolicyBinding', name, place, {
      spec: { policyName: name, validationActions: ['Deny'] },
    }),
  ];
}
