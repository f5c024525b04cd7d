/** Asks how to install a server: with defaults, or with custom options. */
import { type Answer, BACK, type Choice } from '../window/questions/answer.ts';
import { input, pickOne } from '../window/questions/dialogue.ts';

interface Row {
  /** Option of `rollout cluster install`. */
  readonly option: string;
  readonly label: string;
  readonly defaultText: string;
  readonly prompt: string;
  /** Cannot be changed by an upgrade. */
  readonly installOnly?: true;
}

const ROWS: readonly Row[] = [
  {
    option: 'image',
    label: 'Image',
    defaultText: 'node:24-slim',
    prompt: 'Image for the server and its workers, with Node 22.19 or newer',
  },
  {
    option: 'storage',
    label: 'Storage',
    defaultText: 'pvc',
    prompt: 'Where data is stored: pvc[:CLASS], hostPath:/FOLDER, emptyDir, postgres:SECRET[/KEY]',
    installOnly: true,
  },
  { option: 'port', label: 'Port', defaultText: '8080', prompt: 'Port of the server' },
  { option: 'tls-port', label: 'TLS port', defaultText: '8443', prompt: 'Port of the server for workers, with TLS' },
  {
    option: 'advertise',
    label: 'URL for workers',
    defaultText: 'its Service',
    prompt: 'URL at which workers reach the server, if not its Service: https://HOST:PORT',
  },
  {
    option: 'pod-security',
    label: 'Pod security',
    defaultText: 'restricted; privileged with hostPath',
    prompt: 'Pod security level of a namespace that is created: restricted, baseline, or privileged',
    installOnly: true,
  },
];

type OptionValues = ReadonlyMap<string, string>;

/** Returns the arguments of `rollout cluster install`, or undefined if the user cancels. */
export async function askInstall(
  name: string,
  namespace: string | undefined,
  installed: boolean,
): Promise<readonly string[] | undefined> {
  const title = installed ? `Upgrade ${name}` : `Install on ${name}`;
  const detail = installed
    ? 'with the installed options; running batches continue afterwards'
    : `image ${ROWS[0]?.defaultText ?? ''}, storage in a volume claim`;
  const place = namespace === undefined ? 'the namespace of the context' : `namespace ${namespace}`;
  for (;;) {
    const first = await pickOne<'go' | 'options'>(
      { title, step: 1, steps: 1 },
      [
        { label: installed ? 'Upgrade' : 'Install', detail, icon: 'cloud-upload', value: 'go' },
        {
          label: 'Options…',
          detail: installed ? 'image, ports, address' : 'image, storage, ports, address, pod security',
          icon: 'settings-gear',
          value: 'options',
        },
      ],
      {
        placeholder: installed
          ? `Upgrade the server in ${place} to this version`
          : `Install a server in ${place}, which is created if necessary`,
      },
    );
    if (first === undefined || first === BACK) return undefined;
    if (first === 'go') return [];
    const values = await askOptions(title, installed);
    if (values === undefined) return undefined;
    if (values !== BACK) return [...values].flatMap(([option, value]) => [`--${option}`, value]);
  }
}

/** Lets the user edit options until they continue or go back. */
async function askOptions(title: string, installed: boolean): Promise<Answer<OptionValues>> {
  const values = new Map<string, string>();
  const rows = ROWS.filter(({ installOnly }) => installOnly !== true || !installed);
  for (;;) {
    const choices: Choice<Row | 'go'>[] = [
      {
        label: installed ? 'Upgrade with These Options' : 'Install with These Options',
        icon: 'cloud-upload',
        value: 'go',
      },
      ...rows.map((value) => ({
        label: value.label,
        description: values.get(value.option) ?? (installed ? 'unchanged' : value.defaultText),
        icon: 'edit',
        value,
      })),
    ];
    const picked = await pickOne({ title, step: 2, steps: 2 }, choices, {
      placeholder: 'Select an option to change, or continue',
    });
    if (picked === undefined || picked === BACK) return picked;
    if (picked === 'go') return values;
    const value = await input(
      { title: picked.label, step: 3, steps: 3 },
      {
        prompt: picked.prompt,
        placeholder: installed ? 'unchanged' : picked.defaultText,
        value: values.get(picked.option) ?? '',
      },
    );
    if (value === undefined) return undefined;
    if (value === BACK) continue;
    if (value.trim() === '') values.delete(picked.option);
    else values.set(picked.option, value.trim());
  }
}
