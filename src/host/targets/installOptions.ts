/** Asks how to install a server: a short form with the options that the cluster has, or with the defaults. */
import { type Answer, BACK, type Choice } from '../window/questions/answer.ts';
import { input, pickOne, type StepPlace } from '../window/questions/dialogue.ts';
import { runSteps, type Step } from '../window/questions/steps.ts';
import { askModels, modelsRow } from './installModels.ts';
import type { OptionValues } from './modelOptions.ts';
import type { StoredOptions } from './targetCli.ts';

interface Row {
  /** Option of `rollout cluster install`. */
  readonly option: string;
  readonly label: string;
  readonly defaultText: string;
  readonly prompt: string;
  /** Cannot be changed by an upgrade. */
  readonly installOnly?: true;
  /** Returns its value in an installation. */
  readonly stored: (options: StoredOptions) => string | number | undefined;
}

const IMAGE: Row = {
  option: 'image',
  label: 'Image',
  defaultText: 'node:24-slim',
  prompt: 'Image for the server and its workers, with Node 22.19 or newer',
  stored: ({ image }) => image,
};

/** Options that few need: in the last step. */
const MORE: readonly Row[] = [
  {
    option: 'memory',
    label: 'Memory',
    defaultText: '2Gi',
    prompt: 'Memory limit of the server',
    stored: ({ memory }) => memory,
  },
  {
    option: 'storage-size',
    label: 'Storage size',
    defaultText: '20Gi',
    prompt: 'Size of the volume claim, such as 20Gi',
    installOnly: true,
    stored: ({ storageSize }) => storageSize,
  },
  {
    option: 'port',
    label: 'Port',
    defaultText: '8080',
    prompt: 'Port of the server',
    stored: ({ port }) => port,
  },
  {
    option: 'tls-port',
    label: 'TLS port',
    defaultText: '8443',
    prompt: 'Port of the server for workers, with TLS',
    stored: ({ tlsPort }) => tlsPort,
  },
  {
    option: 'advertise',
    label: 'URL for workers',
    defaultText: 'its Service',
    prompt: 'URL at which workers reach the server, if not its Service: https://HOST:PORT',
    stored: ({ advertise }) => advertise,
  },
  {
    option: 'pod-security',
    label: 'Pod security',
    defaultText: 'restricted; privileged with hostPath',
    prompt: 'Pod security level of a namespace that is created: restricted, baseline, or privileged',
    installOnly: true,
    stored: ({ podSecurity }) => podSecurity,
  },
];

interface StorageKind {
  readonly label: string;
  readonly detail: string;
  readonly icon: string;
  /** The value, or how one begins that needs something more. */
  readonly value: string;
  readonly ask?: { readonly prompt: string; readonly placeholder: string };
}

const STORAGE: readonly StorageKind[] = [
  { label: 'Volume Claim', detail: 'with the default storage class of the cluster', icon: 'database', value: 'pvc' },
  {
    label: 'Volume Claim of a Class…',
    detail: 'with a storage class that you name',
    icon: 'database',
    value: 'pvc:',
    ask: { prompt: 'Storage class of the volume claim', placeholder: 'fast-ssd' },
  },
  {
    label: 'PostgreSQL…',
    detail: 'for several servers, or a database that others manage',
    icon: 'server',
    value: 'postgres:',
    ask: { prompt: 'Secret whose key `url` has the address of the database: SECRET or SECRET/KEY', placeholder: 'db' },
  },
  {
    label: 'Folder of a Node…',
    detail: 'a hostPath, for clusters of one node; the namespace is privileged then',
    icon: 'folder',
    value: 'hostPath:',
    ask: { prompt: 'Folder on the node', placeholder: '/var/lib/rollout' },
  },
  { label: 'None', detail: 'an emptyDir: trajectories are lost with the pod', icon: 'trash', value: 'emptyDir' },
];

interface InstallForm {
  readonly name: string;
  readonly namespace: string | undefined;
  readonly installed: boolean;
  /** The options that the cluster keeps, also of a server that was removed without its data. */
  readonly stored: StoredOptions | undefined;
}

/** Returns the arguments of `rollout cluster install`, or undefined if the user cancels. */
export async function askInstall({
  name,
  namespace,
  installed,
  stored,
}: InstallForm): Promise<readonly string[] | undefined> {
  const title = installed ? `Upgrade ${name}` : `Install on ${name}`;
  const where = namespace === undefined ? 'the namespace of the context' : `namespace ${namespace}`;
  const values: OptionValues = new Map();
  const steps: readonly Step[] = [
    // A server would not find its data elsewhere.
    ...(stored === undefined ? [(step: number, of: number) => askStorage({ title, step, steps: of }, values)] : []),
    (step, of) => askImage({ title, step, steps: of }, values, stored),
    (step, of) => askMore({ title, step, steps: of }, values, stored, where),
  ];
  if (!(await runSteps(steps))) return undefined;
  return [...values].flatMap(([option, value]) => [`--${option}`, value]);
}

async function askStorage(place: StepPlace, values: OptionValues): Promise<Answer<unknown>> {
  for (;;) {
    const now = values.get('storage');
    const active = STORAGE.findIndex(
      ({ value, ask }) => now === value || (ask !== undefined && now?.startsWith(value)),
    );
    const kind = await pickOne(
      place,
      STORAGE.map((value) => ({ label: value.label, detail: value.detail, icon: value.icon, value })),
      { placeholder: 'Where the server keeps batches and trajectories', active: Math.max(0, active) },
    );
    if (kind === undefined || kind === BACK) return kind;
    if (kind.ask === undefined) {
      values.set('storage', kind.value);
      return kind;
    }
    const rest = await input(
      { ...place, back: true },
      {
        ...kind.ask,
        value: now?.startsWith(kind.value) === true ? now.slice(kind.value.length) : '',
        validate: (text) => (text.trim() === '' ? 'Enter a value.' : undefined),
      },
    );
    if (rest === undefined) return undefined;
    if (rest === BACK) continue;
    values.set('storage', `${kind.value}${rest.trim()}`);
    return rest;
  }
}

async function askImage(
  place: StepPlace,
  values: OptionValues,
  stored: StoredOptions | undefined,
): Promise<Answer<unknown>> {
  const now = storedText(IMAGE, stored) ?? IMAGE.defaultText;
  const image = await input(place, {
    prompt: IMAGE.prompt,
    value: values.get(IMAGE.option) ?? now,
    validate: (text) => (/\s/.test(text.trim()) ? 'An image has no spaces.' : undefined),
  });
  if (image !== undefined && image !== BACK) setValue(values, IMAGE, image, now);
  return image;
}

/** Lets the user change further options until they continue or go back. */
async function askMore(
  place: StepPlace,
  values: OptionValues,
  stored: StoredOptions | undefined,
  where: string,
): Promise<Answer<unknown>> {
  const rows = MORE.filter(({ installOnly }) => installOnly !== true || stored === undefined);
  for (;;) {
    const choices: Choice<Row | 'go' | 'models'>[] = [
      {
        label: 'Show Changes',
        detail: `Nothing changes before you confirm. Compares with ${where}.`,
        icon: 'diff',
        value: 'go',
      },
      { ...modelsRow(values, stored), value: 'models' },
      ...rows.map((value) => ({
        label: value.label,
        description: values.get(value.option) ?? storedText(value, stored) ?? value.defaultText,
        icon: 'edit',
        value,
      })),
    ];
    const picked = await pickOne(place, choices, { placeholder: 'Continue, or select an option to change' });
    if (picked === undefined || picked === BACK) return picked;
    if (picked === 'go') return picked;
    if (picked === 'models') {
      const models = await askModels({ title: 'Models', step: place.step, steps: place.steps }, values, stored);
      if (models === undefined) return undefined;
      continue;
    }
    const now = storedText(picked, stored);
    const value = await input(
      { title: picked.label, step: place.step, steps: place.steps },
      { prompt: picked.prompt, placeholder: picked.defaultText, value: values.get(picked.option) ?? now ?? '' },
    );
    if (value === undefined) return undefined;
    if (value !== BACK) setValue(values, picked, value, now ?? '');
  }
}

/** Only what differs from what the cluster has is sent. */
function setValue(values: OptionValues, { option }: Row, text: string, now: string): void {
  const value = text.trim();
  if (value === '' || value === now) values.delete(option);
  else values.set(option, value);
}

function storedText(row: Row, stored: StoredOptions | undefined): string | undefined {
  const value = stored === undefined ? undefined : row.stored(stored);
  return value === undefined ? undefined : String(value);
}
