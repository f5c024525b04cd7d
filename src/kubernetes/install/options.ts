/** Options of an installation. A ConfigMap keeps them (stored.ts), so that an upgrade changes only those it names. */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { MODEL_NAME } from '../../config/schema/modelsFile.ts';
import { podsFile } from '../../config/schema/placement.ts';
import { retentionFile } from '../../config/schema/retentionFile.ts';
import { sharesFile } from '../../config/schema/sharesFile.ts';
import { PROGRAM_SOURCES, SERVER_PORT, TLS_PORT } from '../names.ts';
import { parseAllowed } from '../network/peers.ts';
import { POD_SECURITY_LEVELS, type PodSecurityLevel } from '../security/podSecurity.ts';
import { gatewayOptions, identityOptions, ingressOptions, outboundOptions } from './outside/options.ts';
import { parseStorage } from './storage.ts';
import { parsedText, quantity, secretName, storage } from './values.ts';
import { type ModelSet, modelsOf } from './vllm/models.ts';
import { asOption, checkVllm, inFile, servedNames, vllmOptions } from './vllm/options.ts';

const allowed = parsedText(parseAllowed);
/** The stock image, which the programs are unpacked in, or added to. */
export const DEFAULT_IMAGE = 'node:24-slim';
/** Whether a part that belongs to the cluster is installed, or left to whoever owns the cluster. */
const OWNERS = z.enum(['install', 'none'], 'expected install or none').default('install');
const oneOrMore = z.number().int().min(1);

export const installOptions = z.object({
  /** Image of the server's pod, and of workers whose batch names none: anything with Node 22.19 or newer. */
  image: z.string().min(1).default(DEFAULT_IMAGE),
  pullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).default('IfNotPresent'),
  /** Where the programs are: in ConfigMaps, or in the image, as `rollout cluster image` builds it. */
  programs: z.enum(PROGRAM_SOURCES).default('configmaps'),
  /** Secret with the credentials of the images' registry. */
  pullSecret: z.string().optional(),
  /** Secret of others with the client tokens, keys `full` and `read`. undefined: install creates one. */
  tokensSecret: secretName.optional(),
  /** Secret of others with the authority, keys `ca.crt` and `ca.key` or `tls.crt` and `tls.key`. */
  authoritySecret: secretName.optional(),
  port: z.number().int().min(1).max(65_535).default(SERVER_PORT),
  /** Port of the server for TLS, which workers use. */
  tlsPort: z.number().int().min(1).max(65_535).default(TLS_PORT),
  /** The server's address for workers that cannot use its Service's name. */
  advertise: z.string().optional(),
  /** Further host names of the server, such as that of a gateway in front of it. */
  allowHosts: z.array(z.string().min(1)).default([]),
  /** See storage.ts. */
  storage: storage.default('pvc'),
  storageSize: quantity.default('20Gi'),
  /** The server's memory limit. */
  memory: quantity.default('2Gi'),
  /** Servers; more than one needs PostgreSQL. */
  replicas: oneOrMore.default(1),
  /** Base URL of a collector that receives finished rollouts as traces (OTLP over HTTP). */
  otlp: z.url({ protocol: /^https?$/, error: 'an address like http://collector:4318' }).optional(),
  /** Secret of others with headers for the collector, in the key `headers` (`NAME=VALUE`, separated by commas). */
  otlpSecret: secretName.optional(),
  /** What all pods may reach beyond what they need, and who may reach the server; see `network/peers.ts`. */
  allowEgress: z.array(allowed).default([]),
  allowIngress: z.array(allowed).default([]),
  /** How the server is reached from outside its cluster. */
  ingress: ingressOptions.optional(),
  gateway: gatewayOptions.optional(),
  /** Annotations of the server's Service, for controllers that read there how to connect. */
  serviceAnnotations: z.record(z.string(), z.string()).optional(),
  /** The proxy in front of the server that says who users are. */
  identity: identityOptions.optional(),
  ...outboundOptions,
  /** Whether the admission policies that confine the server's account are part of it, or left to others. */
  admissionPolicies: OWNERS,
  /** The same of what lets the server ask the cluster who its callers are. */
  identityBindings: OWNERS,
  /** Pod security level of a namespace that install creates. Default: the strictest that the storage allows. */
  podSecurity: z.enum(POD_SECURITY_LEVELS).optional(),
  /** Settings of the pods of server, workers, and vLLM, as in their file (`config/schema/placement.ts`). */
  pods: podsFile.optional(),
  /** How the server divides what it has, as in the file of `--shares` (`config/schema/sharesFile.ts`). */
  shares: sharesFile.optional(),
  /** What the server removes by itself. */
  retention: retentionFile.optional(),
  /** A model that vLLM serves next to the server. */
  vllm: vllmOptions.optional(),
  /** Further models, by the names of their objects. */
  models: z.record(z.string().regex(MODEL_NAME), vllmOptions).optional(),
});
export type InstallOptions = z.infer<typeof installOptions>;
/** Input of the options; those with a default may be left out. */
export type InstallInput = z.input<typeof installOptions>;

/** Merges options into those of the existing installation; throws StudioError `usage` if they conflict. */
export function resolveOptions(input: InstallInput, installed?: InstallOptions): InstallOptions {
  const parsed = installOptions.safeParse({ ...installed, ...input });
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new StudioError(
      'usage',
      `--${(issue?.path ?? [])
        .map(String)
        .join('-')
        .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}: ${issue?.message ?? parsed.error.message}`,
    );
  }
  const options = parsed.data;
  if (options.programs === 'image' && options.image === DEFAULT_IMAGE) {
    throw new StudioError('usage', `The image ${DEFAULT_IMAGE} does not contain the programs.`, {
      hint: 'Build one with rollout cluster image, and name it with --image.',
    });
  }
  if (options.replicas > 1 && parseStorage(options.storage).kind !== 'postgres') {
    throw new StudioError('usage', 'Several servers need one database: use --replicas with --storage postgres:SECRET.');
  }
  if (options.otlpSecret !== undefined && options.otlp === undefined) {
    throw new StudioError('usage', '--otlp-secret has headers for a collector, but there is no collector.', {
      hint: 'Name it with --otlp URL, or take the Secret back with --otlp-secret none.',
    });
  }
  checkModels(modelsOf(options));
  if (usesNodeFolder(options) && options.podSecurity !== undefined && options.podSecurity !== 'privileged') {
    throw new StudioError(
      'usage',
      `Pods with a folder of the node are refused at the pod security level ${options.podSecurity}.`,
      { hint: 'Use another storage than hostPath, or --pod-security privileged.' },
    );
  }
  if (installed !== undefined && installed.storage !== options.storage) {
    throw new StudioError(
      'conflict',
      `The installed server keeps its data in ${installed.storage} and would not find it in ${options.storage}.`,
      { hint: 'Omit --storage, or uninstall with --delete-data first.' },
    );
  }
  return options;
}

/** Throws StudioError `usage` if a model does not fit, or if a call could not be told which model it is for. */
function checkModels(models: ModelSet): void {
  const owners = new Map<string, string | undefined>();
  for (const { name, options } of models) {
    checkVllm(options, name === undefined ? asOption : inFile);
    for (const served of servedNames(options)) {
      if (owners.has(served))
        throw new StudioError('usage', `Two models are served as ${served}, so calls could not choose one.`, {
          hint: 'Give one another name with --served-model-name among its arguments.',
        });
      owners.set(served, name);
    }
  }
}

/** Returns the pod security level that a namespace created for the installation enforces. */
export function podSecurityLevel(options: InstallOptions): PodSecurityLevel {
  return options.podSecurity ?? (usesNodeFolder(options) ? 'privileged' : 'restricted');
}

/** Returns whether a pod mounts a folder of its node. */
function usesNodeFolder(options: InstallOptions): boolean {
  const folders = [options.storage, ...modelsOf(options).map((model) => model.options.cache)];
  return folders.some((text) => parseStorage(text).kind === 'hostPath');
}
