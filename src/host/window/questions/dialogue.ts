/** Shows quick picks and input boxes as steps with a back button. */
import * as vscode from 'vscode';
import { type Answer, BACK, type Choice } from './answer.ts';

export interface StepPlace {
  readonly title: string;
  readonly step: number;
  readonly steps: number;
  /** Whether there is something to go back to within the step. */
  readonly back?: true;
}

interface PickOptions {
  readonly placeholder: string;
  /** Index of the initially active choice. */
  readonly active?: number;
  /** Initial selection. */
  readonly selected?: 'all';
}

/** Lets the user pick one choice. */
export async function pickOne<T>(
  place: StepPlace,
  choices: readonly Choice<T>[],
  options: PickOptions,
): Promise<Answer<T>> {
  const picked = await pick(place, choices, { ...options, multiple: false });
  return picked === undefined || picked === BACK ? picked : picked[0];
}

/** Lets the user pick one or more choices. */
export async function pickMany<T>(
  place: StepPlace,
  choices: readonly Choice<T>[],
  options: PickOptions,
): Promise<Answer<readonly T[]>> {
  return pick(place, choices, { ...options, multiple: true });
}

function pick<T>(
  place: StepPlace,
  choices: readonly Choice<T>[],
  options: PickOptions & { readonly multiple: boolean },
): Promise<Answer<readonly T[]>> {
  const box = vscode.window.createQuickPick<vscode.QuickPickItem & { readonly value: T }>();
  box.placeholder = options.placeholder;
  box.canSelectMany = options.multiple;
  box.matchOnDescription = true;
  box.matchOnDetail = true;
  const items = choices.map(({ label, description, detail, icon, value }) => ({
    label,
    value,
    ...(description === undefined ? {} : { description }),
    ...(detail === undefined ? {} : { detail }),
    ...(icon === undefined ? {} : { iconPath: new vscode.ThemeIcon(icon) }),
  }));
  box.items = items.flatMap((item, index) => {
    const section = choices[index]?.section;
    if (section === undefined) return [item];
    return [{ label: section, kind: vscode.QuickPickItemKind.Separator, value: item.value }, item];
  });
  const first = options.active === undefined ? undefined : items[options.active];
  if (first !== undefined && !options.multiple) box.activeItems = [first];
  if (options.selected === 'all') box.selectedItems = box.items;
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
  readonly validate?: (text: string) => string | undefined;
  /** Validates an accepted text asynchronously. */
  readonly verify?: (text: string, signal: AbortSignal) => Promise<string | undefined>;
}

export function input(place: StepPlace, options: InputOptions): Promise<Answer<string>> {
  const box = vscode.window.createInputBox();
  box.prompt = options.prompt;
  box.value = options.value ?? '';
  box.placeholder = options.placeholder ?? '';
  box.password = options.password ?? false;
  const check = (): string | undefined => {
    const problem = options.validate?.(box.value);
    box.validationMessage = problem;
    return problem;
  };
  let verification: AbortController | undefined;
  const stop = (): void => {
    verification?.abort();
    verification = undefined;
    box.busy = false;
  };
  const verifyAndAccept = async (accept: (value: string) => void): Promise<void> => {
    if (verification !== undefined || check() !== undefined) return;
    const [{ signal }, text] = [(verification = new AbortController()), box.value];
    box.busy = true;
    const problem = await options.verify?.(text, signal);
    if (signal.aborted) return;
    stop();
    if (problem === undefined) accept(text);
    else box.validationMessage = problem;
  };
  return show(box, place, (accept) => [
    // Ignore the result if the text changed.
    box.onDidChangeValue(() => {
      stop();
      check();
    }),
    box.onDidAccept(() => void verifyAndAccept(accept)),
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
  if (place.step > 1 || place.back === true) box.buttons = [vscode.QuickInputButtons.Back];
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
