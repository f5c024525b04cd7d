/** Installations that together have every object, and every form of it, that `rollout cluster render` writes. */
import type { InstallInput } from '../../src/kubernetes/install/options.ts';

const MODEL = 'org/model';

export const INSTALLATIONS: Readonly<Record<string, InstallInput>> = {
  defaults: {},
  'storage on a node': { storage: 'hostPath:/data', podSecurity: 'privileged' },
  'storage that is lost': { storage: 'emptyDir' },
  'a storage class, Secrets of others': {
    storage: 'pvc:fast',
    tokensSecret: 'tokens',
    authoritySecret: 'issuer',
    pullSecret: 'registry',
  },
  'several servers': {
    storage: 'postgres:db/dsn',
    replicas: 2,
    otlp: 'https://collector.observability:4318',
    otlpSecret: 'otel',
  },
  'programs in the image': { programs: 'image', image: 'registry.example.org/rollout-studio:1' },
  'what belongs to the cluster is of others': { admissionPolicies: 'none', identityBindings: 'none' },
  networks: {
    allowEgress: ['0.0.0.0/0:443', 'namespace:models:8000'],
    allowIngress: ['namespace:monitoring'],
    allowHosts: ['rollouts.example.org'],
    advertise: 'https://rollouts.example.org',
  },
  'an Ingress': {
    ingress: {
      host: 'rollouts.example.org',
      className: 'nginx',
      tls: 'cluster-issuer:letsencrypt',
      annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '0' },
    },
  },
  'an Ingress by TLS': {
    ingress: { host: 'rollouts.example.org', tls: 'certificate', backend: 'https' },
    serviceAnnotations: { 'traefik.ingress.kubernetes.io/service.serverstransport': 'rollouts-verify@kubernetescrd' },
  },
  'a Gateway': { gateway: { name: 'public', namespace: 'infra', host: 'rollouts.example.org', section: 'https' } },
  'a Gateway by TLS': { gateway: { name: 'public', host: 'rollouts.example.org', backend: 'https' } },
  'a proxy with certificates that signs users in': {
    identity: {
      userHeader: 'X-Forwarded-Email',
      groupsHeader: 'X-Forwarded-Groups',
      userPrefix: 'oidc:',
      groupsPrefix: 'oidc:',
      from: { kind: 'mtls', secret: 'proxy-ca', names: ['oauth2-proxy'] },
    },
  },
  'a proxy with a secret that signs users in': {
    identity: { userHeader: 'X-Forwarded-User', from: { kind: 'shared-secret', secret: 'proxy' } },
  },
  'a corporate network': {
    proxy: 'http://proxy.example.org:3128',
    noProxy: ['.example.org'],
    caBundle: 'authorities/ca.pem',
    vllm: { model: MODEL },
  },
  'shares and retention': {
    shares: {
      users: { alice: { weight: 2, rollouts: 200, pods: 8, tokens_per_hour: 50_000_000 } },
      default: { rollouts: 100 },
      queues: { research: { weight: 2, users: ['alice'], local_queue: 'research' } },
    },
    retention: { version: 1, rules: [{ age: '90d', delete: true }] },
  },
  'settings of pods': {
    storage: 'postgres:db',
    pods: {
      server: {
        node_selector: { pool: 'system' },
        tolerations: [{ key: 'system', operator: 'Exists', effect: 'NoSchedule' }],
        spread: 'required',
        priority_class: 'platform',
        labels: { team: 'research' },
        annotations: { 'example.org/owner': 'research' },
        service_account: 'rollouts',
        image_pull_secrets: ['mirror'],
        requests: { cpu: '2', memory: '4Gi' },
        limits: { memory: '8Gi' },
      },
      workers: { tolerations: [{ key: 'spot', operator: 'Exists' }], grace_seconds: 120, limits: { memory: '8Gi' } },
      vllm: { node_selector: { pool: 'gpus' }, spread: 'none', requests: { memory: '200Gi' } },
    },
    vllm: { model: MODEL },
  },
  'a model': { vllm: { model: MODEL, gpus: 2, toolParser: 'hermes', reasoningParser: 'qwen3', tokenSecret: 'hub' } },
  'a model with adapters on a claim': {
    vllm: {
      model: '/cache/model',
      cache: 'claim:weights',
      loras: ['sql=/cache/sql'],
      apiKeySecret: 'key',
      replicas: 2,
      upgrade: 'surge',
    },
  },
  'a model on a volume that replicas share': { vllm: { model: MODEL, cache: 'pvc:shared', replicas: 2 } },
  'a model on a node': { storage: 'emptyDir', vllm: { model: MODEL, cache: 'hostPath:/weights' } },
  'a model in S3': { vllm: { model: 's3://weights/model', s3Secret: 's3' } },
  'a model that KEDA scales': {
    vllm: { model: MODEL, autoscale: 'keda', maxReplicas: 8, prometheus: 'http://prometheus.monitoring:9090' },
  },
  'a model that an autoscaler scales': { vllm: { model: MODEL, autoscale: 'hpa', maxReplicas: 8 } },
};
