/** What a target is that is the address of a server: each answer is tried before the next is asked for. */
import { readFile } from 'node:fs/promises';
import * as vscode from 'vscode';
import { certificatesOf } from '../../../client/targets/addressTokens.ts';
import { checkToken, reachAddress } from '../../../client/targets/checkAddress.ts';
import { serverUrl } from '../../../client/targets/target.ts';
import { errorText } from '../../../common/errors.ts';
import type { ServerAddress } from '../../../protocol/transport.ts';
import { type Answer, BACK } from '../../window/questions/answer.ts';
import { input, pickOne, type StepPlace } from '../../window/questions/dialogue.ts';
import { SKIPPED, type Step } from '../../window/questions/steps.ts';

/** What was answered so far. */
export interface AddressDraft {
  url: string;
  /** File of certificates. */
  ca: string | undefined;
  token: string;
}

/** `wanted`: whether it is an address at all that is added. */
export function addressSteps(title: string, draft: AddressDraft, wanted: () => boolean): readonly Step[] {
  let untrusted = false;
  const when =
    (step: () => Promise<Answer<unknown>>): Step =>
    () =>
      wanted() ? step() : Promise.resolve(SKIPPED);
  // The first was the choice of an address, the last is the name; what is only asked sometimes is not counted.
  const place = (step: number): StepPlace => ({ title, step, steps: 4 });
  return [
    when(() =>
      kept(
        input(place(2), {
          prompt: 'Address of the server',
          value: draft.url,
          placeholder: 'https://rollouts.example.org',
          wrong: (text) => problem(() => serverUrl(text.trim())),
          tried: async (text, signal) =>
            tried(async () => {
              untrusted = (await reachAddress({ url: serverUrl(text.trim()) }, signal)) === 'untrusted';
              if (!untrusted) draft.ca = undefined;
              return undefined;
            }),
        }),
        (text) => {
          draft.url = serverUrl(text.trim());
        },
      ),
    ),
    when(() => (untrusted ? askAuthority(place(2), draft) : Promise.resolve(SKIPPED))),
    when(async () => {
      const ca = await certificatesOf(draft);
      return kept(askToken(place(3), { url: draft.url, ...(ca === undefined ? {} : { ca }) }, 'write'), (token) => {
        draft.token = token;
      });
    }),
  ];
}

/**
 * The token itself is in no setting and no file. `may`: what it has to be good for; one that only reads may be left
 * out.
 */
export function askToken(
  place: StepPlace,
  address: Omit<ServerAddress, 'token'>,
  may: 'write' | 'read',
): Promise<Answer<string>> {
  return input(place, {
    prompt:
      may === 'write'
        ? 'Token of the server; it is kept in the secret storage of VS Code'
        : 'Token that may only read, for links to a browser; none if left empty',
    password: true,
    wrong: (text) =>
      may === 'write' && text.trim() === ''
        ? 'A server is asked with a token: that of its server.json, or of its Secret in the cluster.'
        : undefined,
    tried: async (text, signal) => {
      if (text.trim() === '') return undefined;
      return tried(async () => {
        const found = await checkToken({ ...address, token: text.trim() }, signal);
        if (found.may === may) return undefined;
        return may === 'write'
          ? 'This token may only read. The window needs the full one.'
          : 'This token may do everything: whoever gets a link could.';
      });
    },
  }).then((answer) => (typeof answer === 'string' ? answer.trim() : answer));
}

async function askAuthority(place: StepPlace, draft: AddressDraft): Promise<Answer<string>> {
  for (
    let placeholder = `The certificate of ${new URL(draft.url).host} is of an authority that is not trusted here`;
    ;
  ) {
    const choice = await pickOne(
      place,
      [
        {
          label: 'Choose a CA File…',
          detail: 'The certificates (PEM) of its authority, from whoever runs the server',
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
    const wrong = await tried(async () => {
      await certificatesOf({ ca: file.fsPath });
      const reached = await reachAddress(
        { url: draft.url, ca: await readFile(file.fsPath, 'utf8') },
        new AbortController().signal,
      );
      return reached === 'reached' ? undefined : 'The certificate of the server is not of this authority';
    });
    if (wrong === undefined) return (draft.ca = file.fsPath);
    placeholder = wrong;
  }
}

/** What is wrong, in words; `work` may say so or throw. */
async function tried(work: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await work();
  } catch (error) {
    return errorText(error);
  }
}

function problem(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

async function kept<T>(asked: Promise<Answer<T>>, keep: (value: T) => void): Promise<Answer<T>> {
  const answer = await asked;
  if (answer !== undefined && answer !== BACK) keep(answer);
  return answer;
}
