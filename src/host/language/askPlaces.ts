/** Asks the user which endpoints and MCP servers of files may be queried, and reviews what workspaces may use. */
import * as vscode from 'vscode';
import { plural } from '../../common/text.ts';
import type { QueryPlace } from '../../config/queryPlaces.ts';
import { type ServerSettings, titleOf } from '../server/serverSettings.ts';
import type { QueryPermissions } from './permissions.ts';

/** Places are named one by one while files are checked; one message asks for all. */
const COLLECT_MS = 500;

export class PlaceQuestions implements vscode.Disposable {
  readonly #permissions: QueryPermissions;
  readonly #settings: ServerSettings;
  readonly #decided: () => void;
  readonly #failed: (error: unknown) => void;
  /** Places that the user was asked about in this window. */
  readonly #asked = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    permissions: QueryPermissions,
    settings: ServerSettings,
    decided: () => void,
    failed: (error: unknown) => void,
  ) {
    this.#permissions = permissions;
    this.#settings = settings;
    this.#decided = decided;
    this.#failed = failed;
  }

  named(places: readonly QueryPlace[]): void {
    if (this.#permissions.add(places).every(({ id }) => this.#asked.has(id))) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#ask().catch(this.#failed), COLLECT_MS);
  }

  /** Lets the user change the decisions. */
  async review(): Promise<void> {
    const places = this.#permissions.named;
    const values = this.#settings.named;
    if (places.length + values.length === 0) {
      void vscode.window.showInformationMessage(
        'The files of this workspace name no endpoints and no MCP servers, and its settings name no store or target.',
      );
      return;
    }
    const picked = await vscode.window.showQuickPick(
      [
        ...values.map((value) => ({
          label: `${value.setting === 'store' ? 'Store' : 'Target'} ${titleOf(value)}`,
          description: 'in the settings of this workspace',
          picked: this.#settings.isAllowed(value),
          named: value,
        })),
        ...places.map((place) => ({
          label: place.title,
          description: textOf(place),
          ...(place.folder === undefined ? {} : { detail: `in ${place.folder}` }),
          picked: this.#permissions.isAllowed(place),
          named: place,
        })),
      ],
      {
        canPickMany: true,
        title: 'Workspace Access',
        placeHolder: 'Select the stores and targets that may be used, and what may be queried for models and tools',
        matchOnDescription: true,
      },
    );
    if (picked === undefined) return;
    const allowed = new Set<unknown>(picked.map(({ named }) => named));
    await this.#settings.decide(
      values,
      values.filter((value) => allowed.has(value)),
    );
    await this.#permissions.decide(
      places,
      places.filter((place) => allowed.has(place)),
    );
    this.#decided();
  }

  dispose(): void {
    clearTimeout(this.#timer);
  }

  async #ask(): Promise<void> {
    const places = this.#permissions.undecided.filter(({ id }) => !this.#asked.has(id));
    if (places.length === 0) return; // the user decided in the meantime, in Review…
    for (const { id } of places) this.#asked.add(id);
    const choice = await vscode.window.showInformationMessage(questionText(places), 'Allow', 'Don’t Allow', 'Review…');
    if (choice === 'Review…') return this.review();
    if (choice === undefined) return; // asked again in the next window
    await this.#permissions.decide(places, choice === 'Allow' ? places : []);
    this.#decided();
  }
}

function questionText(places: readonly QueryPlace[]): string {
  const [first] = places;
  if (places.length === 1 && first !== undefined)
    return first.kind === 'command'
      ? `Start “${first.title}” to list its tools? A file of this workspace names it.${valuesText(first)}`
      : `Send requests to ${first.title}? A file of this workspace names it.${valuesText(first)}`;
  const commands = places.filter(({ kind }) => kind === 'command').length;
  const urls = places.length - commands;
  const parts = [
    ...(commands === 0 ? [] : [`start ${plural(commands, 'MCP server')}`]),
    ...(urls === 0 ? [] : [`send requests to ${plural(urls, 'address', 'addresses')}`]),
  ].join(' and ');
  return `Allow Rollout to ${parts} for models and tools? Files of this workspace name them.`;
}

function valuesText({ variables }: QueryPlace): string {
  return variables.length === 0 ? '' : ` It receives the value of ${variables.join(', ')}.`;
}

function textOf(place: QueryPlace): string {
  const kind = { endpoint: 'model endpoint', command: 'MCP server, started', server: 'MCP server' }[place.kind];
  return place.variables.length === 0 ? kind : `${kind}; receives ${place.variables.join(', ')}`;
}
