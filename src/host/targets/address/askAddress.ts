/** Asks for the URL, CA, and tokens of a URL target. Each answer is verified before the next question. */
import * as vscode from 'vscode';
import { diskFiles } from '../../../client/disk.ts';
import { certificatesOf } from '../../../client/targets/addressTokens.ts';
import { checkToken, reachAddress } from '../../../client/targets/checkAddress.ts';
import { serverUrl } from '../../../client/targets/target.ts';
import { errorText } from '../../../common/errors.ts';
import type { ServerAddress } from '../../../protocol/transport.ts';
import { type Answer, BACK, storeAnswer } from '../../window/questions/answer.ts';
import { input, pickOne, type StepPlace } from '../../window/questions/dialogue.ts';
import { SKIPPED, type Step } from '../../window/questions/steps.ts';

/** The answers so far. */
export interface AddressDraft {
  url: string;
  /** CA file. */
  ca: string | undefined;
  token: string;
  /** Instead of a token: the context of a kubeconfig whose user logs in. */
  login: ContextLogin | undefined;
}

export interface ContextLogin {
  readonly context: string;
  /** undefined: the default one. */
  readonly kubeconfig: string | undefined;
}

/**
 * @param isUrlTarget Returns whether the user chose to add a URL target.
 * @param logins Returns the contexts whose users could log in, and what to say of each.
 */
export function addressSteps(
  title: string,
  draft: AddressDraft,
  isUrlTarget: () => boolean,
  logins: () => readonly (ContextLogin & { readonly cluster: string })[],
): readonly Step[] {
  let isUntrusted = false;
  const when =
    (step: () => Promise<Answer<unknown>>): Step =>
    () =>
      isUrlTarget() ? step() : Promise.resolve(SKIPPED);
  // The first step was the kind of target and the last is the name. Optional steps are not counted.
  const place = (step: number): StepPlace => ({ title, step, steps: 4 });
  return [
    when(async () =>
      storeAnswer(
        await input(place(2), {
          prompt: 'URL of the server',
          value: draft.url,
          placeholder: 'https://rollouts.example.org',
          validate: (text) => problemOf(() => serverUrl(text.trim())),
          verify: async (text, signal) =>
            errorOf(async () => {
              isUntrusted = (await reachAddress({ url: serverUrl(text.trim()) }, signal)) === 'untrusted';
              if (!isUntrusted) draft.ca = undefined;
              return undefined;
            }),
        }),
        (text) => {
          draft.url = serverUrl(text.trim());
        },
      ),
    ),
    when(() => (isUntrusted ? askAuthority(place(2), draft) : Promise.resolve(SKIPPED))),
    when(() => {
      const contexts = logins();
      draft.login = undefined;
      // The credential of a cluster is sent only by TLS.
      if (contexts.length === 0 || !draft.url.startsWith('https:')) return Promise.resolve(SKIPPED);
      return askLogin(place(3), contexts).then((answer) =>
        storeAnswer(answer, (login) => {
          draft.login = login ?? undefined;
        }),
      );
    }),
    when(async () => {
      if (draft.login !== undefined) return SKIPPED;
      const ca = await certificatesOf(draft);
      const address = { url: draft.url, ...(ca === undefined ? {} : { ca }) };
      return storeAnswer(await askToken(place(3), address, 'write'), (token) => {
        draft.token = token;
      });
    }),
  ];
}

/**
 * Asks for a token, which is not stored in settings or files. The read-only token is optional.
 */
export function askToken(
  place: StepPlace,
  address: Omit<ServerAddress, 'token'>,
  permission: 'write' | 'read',
): Promise<Answer<string>> {
  return input(place, {
    prompt:
      permission === 'write'
        ? 'Token of the server. VS Code stores it in its secret storage.'
        : 'Read-only token for links to a browser (optional)',
    password: true,
    validate: (text) =>
      permission === 'write' && text.trim() === ''
        ? 'Enter the token from its server.json file, or from its Secret in the cluster.'
        : undefined,
    verify: async (text, signal) => {
      if (text.trim() === '') return undefined;
      return errorOf(async () => {
        const check = await checkToken({ ...address, token: text.trim() }, signal);
        if (check.access === permission) return undefined;
        return permission === 'write'
          ? 'This token is read-only. Enter the full token.'
          : 'This is the full token, and links would expose it. Enter the read-only token.';
      });
    },
  }).then((answer) => (typeof answer === 'string' ? answer.trim() : answer));
}

/** Returns null for a token. */
function askLogin(
  place: StepPlace,
  contexts: readonly (ContextLogin & { readonly cluster: string })[],
): Promise<Answer<ContextLogin | null>> {
  return pickOne(
    place,
    [
      { label: 'Token…', description: 'a client token of the server', icon: 'key', value: null },
      ...contexts.map(({ context, kubeconfig, cluster }) => ({
        label: `As the user of ${context}`,
        description: cluster === context ? '' : `cluster ${cluster}`,
        icon: 'account',
        value: { context, kubeconfig },
      })),
    ],
    { placeholder: 'How do you log in? A context sends your token of that cluster to this server' },
  );
}

async function askAuthority(place: StepPlace, draft: AddressDraft): Promise<Answer<string>> {
  for (let placeholder = `The certificate of ${new URL(draft.url).host} is from a CA that is not trusted`; ; ) {
    const choice = await pickOne(
      place,
      [
        {
          label: 'Choose a CA File…',
          detail: 'PEM file from the operator of the server',
          icon: 'folder-opened',
          value: true,
        },
      ],
      { placeholder },
    );
    if (choice === undefined || choice === BACK) return choice;
    const [file] =
      (await vscode.window.showOpenDialog({ title: 'CA File', openLabel: 'Trust', canSelectMany: false })) ?? [];
    if (file === undefined) continue;
    const problem = await errorOf(async () => {
      await certificatesOf({ ca: file.fsPath });
      const reached = await reachAddress(
        { url: draft.url, ca: await diskFiles().readText(file.fsPath) },
        new AbortController().signal,
      );
      return reached === 'reached' ? undefined : 'This CA did not issue the certificate of the server';
    });
    if (problem === undefined) return (draft.ca = file.fsPath);
    placeholder = problem;
  }
}

/** Returns the error of a check as text. `work` returns or throws it. */
async function errorOf(work: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await work();
  } catch (error) {
    return errorText(error);
  }
}

function problemOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}
