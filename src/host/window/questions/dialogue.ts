/** Shows quick picks and input boxes as steps with a back button. */
import * as vscode from 'vscode';
import { type Answer, BACK } from './answer.ts';
import type { Choice } from './choice.ts';

export interface StepPlace {
  readonly title: string;
  readonly step: number;
  readonly steps: number;
}

interface PickOptions {
  readonly placeholder: string;
  /** Index of the initially active choice. */
  readonly active?: number;
  /** Initial selection. */
  readonly chosen?: 'all';
}

/** Lets the user pick one choice. */
export async function pickOne<T>(
  place: StepPlace,
  choices: readonly Choice<T>[],
  options: PickOptions,
): Promise<Answer<T>> {
  const picked = await pick(place, choices, { ...options, many: false });
  return picked === undefined || picked === BACK ? picked : picked[0];
}

/** Lets the user pick one or more choices. */
export async function pickMany<T>(
  place: StepPlace,
  choices: readonly Choice<T>[],
  options: PickOptions,
): Promise<Answer<readonly T[]>> {
  return pick(place, choices, { ...options, many: true });
}

function pick<T>(
  place: StepPlace,
  choices: readonly Choice<T>[],
  options: PickOptions & { readonly many: boolean },
): Promise<Answer<readonly T[]>> {
  const box = vscode.window.createQuickPick<vscode.QuickPickItem & { readonly value: T }>();
  box.placeholder = options.placeholder;
  box.canSelectMany = options.many;
  box.matchOnDescription = true;
  box.matchOnDetail = true;
  box.items = choices.map(({ label, description, detail, icon, value }) => ({
    label,
    value,
    ...(description === undefined ? {} : { description }),
    ...(detail === undefined ? {} : { detail }),
    ...(icon === undefined ? {} : { iconPath: new vscode.ThemeIcon(icon) }),
  }));
  const first = options.active === undefined ? undefined : box.items[options.active];
  if (first !== undefined && !options.many) box.activeItems = [first];
  if (options.chosen === 'all') box.selectedItems = box.items;
  return show(box, place, (accept) => [
    box.onDidAccept(() => {
      if (box.selectedItems.length > 0) accept(box.selectedItems.map((item) => item.value));
    }),
  ]);
}

interface InputOptions {
  readonly prompt: string;
  readonly value?: string;
  readonly placeholder?: string;
  readonly password?: boolean;
  /** Returns the error of a text, or undefined if it is valid. */
  readonly wrong?: (text: string) => string | undefined;
  /** Validates an accepted text asynchronously. */
  readonly tried?: (text: string, signal: AbortSignal) => Promise<string | undefined>;
}

export function input(place: StepPlace, options: InputOptions): Promise<Answer<string>> {
  const box = vscode.window.createInputBox();
  box.prompt = options.prompt;
  box.value = options.value ?? '';
  box.placeholder = options.placeholder ?? '';
  box.password = options.password ?? false;
  const check = (): string | undefined => {
    const wrong = options.wrong?.(box.value);
    box.validationMessage = wrong;
    return wrong;
  };
  let trying: AbortController | undefined;
  const stop = (): void => {
    trying?.abort();
    trying = undefined;
    box.busy = false;
  };
  const accepted = async (accept: (value: string) => void): Promise<void> => {
    if (trying !== undefined || check() !== undefined) return;
    const [{ signal }, text] = [(trying = new AbortController()), box.value];
    box.busy = true;
    const wrong = await options.tried?.(text, signal);
    if (signal.aborted) return;
    stop();
    if (wrong === undefined) accept(text);
    else box.validationMessage = wrong;
  };
  return show(box, place, (accept) => [
    // Ignore the result if the text changed.
    box.onDidChangeValue(() => {
      stop();
      check();
    }),
    box.onDidAccept(() => void accepted(accept)),
    new vscode.Disposable(stop),
  ]);
}

function show<T>(
  box: vscode.QuickPick<vscode.QuickPickItem & { readonly value: unknown }> | vscode.InputBox,
  place: StepPlace,
  listen: (accept: (value: T) => void) => vscode.Disposable[],
): Promise<Answer<T>> {
  box.title = place.title;
  box.ignoreFocusOut = true;
  if (place.steps > 1) {
    box.step = place.step;
    box.totalSteps = place.steps;
  }
  if (place.step > 1) box.buttons = [vscode.QuickInputButtons.Back];
  return new Promise((resolve) => {
    const listeners = listen((value) => end(value));
    const end = (answer: Answer<T>): void => {
      resolve(answer);
      for (const listener of listeners) listener.dispose();
      box.dispose();
    };
    listeners.push(
      box.onDidTriggerButton((button) => {
        if (button === vscode.QuickInputButtons.Back) end(BACK);
      }),
      box.onDidHide(() => end(undefined)),
    );
    box.show();
  });
}
