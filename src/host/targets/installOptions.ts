/** How a server is installed: as it is usual, unless one asks for the options. */
import { type Answer, BACK } from '../window/questions/answer.ts';
import type { Choice } from '../window/questions/choice.ts';
import { input, pickOne } from '../window/questions/dialogue.ts';

interface Row {
  /** Of `rollout cluster install`. */
  readonly option: string;
  readonly label: string;
  readonly usual: string;
  readonly prompt: string;
  /** It cannot change where a server is. */
  readonly once?: true;
}

const ROWS: readonly Row[] = [
  {
    option: 'image',
    label: 'Image',
    usual: 'node:24-slim',
    prompt: 'Image with Node 22.19 or newer, of the server and of workers',
  },
  {
    option: 'storage',
    label: 'Storage',
    usual: 'pvc',
    prompt: 'Of its data: pvc[:CLASS], hostPath:/FOLDER, emptyDir, postgres:SECRET[/KEY]',
    once: true,
  },
  { option: 'port', label: 'Port', usual: '8080', prompt: 'Port of the server' },
  {
    option: 'advertise',
    label: 'Address for workers',
    usual: 'its Service',
    prompt: 'How workers reach the server, where not by its Service: http://HOST:PORT',
  },
];

type OptionValues = ReadonlyMap<string, string>;

/** Arguments of `rollout cluster install`; undefined: it was closed. `installed`: there is a server already. */
export async function askInstall(
  name: string,
  namespace: string | undefined,
  installed: boolean,
): Promise<readonly string[] | undefined> {
  const title = installed ? `Upgrade ${name}` : `Install on ${name}`;
  const detail = installed
    ? 'with the options it was installed with; what runs goes on after it'
    : `image ${ROWS[0]?.usual ?? ''}, storage by a volume claim`;
  const place = namespace === undefined ? 'the namespace of the context' : `namespace ${namespace}`;
  for (;;) {
    const first = await pickOne<'go' | 'options'>(
      { title, step: 1, steps: 1 },
      [
        { label: installed ? 'Upgrade' : 'Install', detail, icon: 'cloud-upload', value: 'go' },
        {
          label: 'Options…',
          detail: installed ? 'image, port, address' : 'image, storage, port, address',
          icon: 'settings-gear',
          value: 'options',
        },
      ],
      {
        placeholder: installed
          ? `The server in ${place} is brought to this version`
          : `A server is put into ${place}, which is made where it is absent`,
      },
    );
    if (first === undefined || first === BACK) return undefined;
    if (first === 'go') return [];
    const given = await askOptions(title, installed);
    if (given === undefined) return undefined;
    if (given !== BACK) return [...given].flatMap(([option, value]) => [`--${option}`, value]);
  }
}

/** One option after the other, as one likes, until one is done. */
async function askOptions(title: string, installed: boolean): Promise<Answer<OptionValues>> {
  const given = new Map<string, string>();
  const rows = ROWS.filter(({ once }) => once !== true || !installed);
  for (;;) {
    const choices: Choice<Row | 'go'>[] = [
      { label: installed ? 'Upgrade with These' : 'Install with These', icon: 'cloud-upload', value: 'go' },
      ...rows.map((value) => ({
        label: value.label,
        description: given.get(value.option) ?? (installed ? 'as it is' : value.usual),
        icon: 'edit',
        value,
      })),
    ];
    const picked = await pickOne({ title, step: 2, steps: 2 }, choices, {
      placeholder: 'Choose what shall be another, then go on',
    });
    if (picked === undefined || picked === BACK) return picked;
    if (picked === 'go') return given;
    const value = await input(
      { title: picked.label, step: 3, steps: 3 },
      {
        prompt: picked.prompt,
        placeholder: installed ? 'as it is' : picked.usual,
        value: given.get(picked.option) ?? '',
      },
    );
    if (value === undefined) return undefined;
    if (value === BACK) continue;
    if (value.trim() === '') given.delete(picked.option);
    else given.set(picked.option, value.trim());
  }
}
