/** Reads what a world file with `kind: simulated` names: tool definitions and the texts of its prompt. */
import type { Json } from '../../common/json.ts';
import {
  type DemonstrationSource,
  SIMULATION_PARTS,
  type SimulationPart,
  type StateSource,
} from '../schema/simulatedWorld.ts';
import type { ToolEntry } from '../schema/toolEntry.ts';
import type { WorldFile } from '../schema/worldFile.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import type { ToolDefinition } from '../submission/world.ts';
import { definitionItems } from '../tools/definitionFile.ts';
import { checkModel } from './model.ts';
import type { PromptText, Reading } from './reading.ts';
import { checkRoutes } from './routes.ts';
import { checkTools } from './tools.ts';

/** An entry of `tools`, at its place. */
export type SimulatedTools = { readonly at: Path } & (
  | { readonly definitions: readonly ToolDefinition[] }
  | { readonly entry: ToolEntry }
  | { readonly recorded: string; readonly tools?: readonly string[] }
);

export interface Simulation {
  readonly tools: readonly SimulatedTools[];
  readonly texts: Readonly<Partial<Record<SimulationPart, PromptText>>>;
  /** Where they are taken from when the batch is submitted, unless the file or a text has them. */
  readonly state?: StateSource;
  readonly demonstrations?: DemonstrationSource;
}

/** Returns undefined, after reporting why, if the world cannot run. */
export async function readSimulation(
  reading: Reading,
  parsed: ParsedFile,
  value: Partial<WorldFile>,
): Promise<Simulation | undefined> {
  if (value.model !== undefined) checkModel(reading, parsed, ['model'], value.model);
  else if (!parsed.has(['model']))
    reading.report(parsed, [], {
      code: 'missing',
      message: '`model` is missing',
      hint: 'Add `model:` with `endpoint` and `name`: the model that plays the world.',
      fixes: [
        {
          do: 'insert',
          path: [],
          key: 'model',
          value: '{ endpoint: http://localhost:8000/v1, name: Qwen/Qwen-AgentWorld-35B-A3B }',
        },
      ],
    });
  await checkRoutes(reading, parsed, value);
  if (value.real?.tools !== undefined) await checkTools(reading, parsed, ['real', 'tools'], value.real.tools);
  // A real world has the definitions of its tools, and so has one with facts.
  const hasTools = parsed.has(['real']) || parsed.has(['facts']);
  const tools = value.tools === undefined && hasTools ? [] : await readTools(reading, parsed, value.tools);
  const texts: Partial<Record<SimulationPart, PromptText>> = {};
  const { state, demonstrations } = value;
  let complete = value.model !== undefined;
  if (typeof state === 'object' && !(await checkState(reading, parsed, state))) complete = false;
  if (parsed.has(['facts']) && !(await checkFacts(reading, parsed, value))) complete = false;
  for (const part of SIMULATION_PARTS) {
    const written = value[part];
    if (typeof written !== 'string') continue;
    const text = await reading.prompt(parsed, [part], written);
    if (text === undefined) complete = false;
    else texts[part] = text;
  }
  if (!complete || tools === undefined) return undefined;
  return {
    tools,
    texts,
    ...(typeof state === 'object' ? { state } : {}),
    ...(typeof demonstrations === 'object' ? { demonstrations } : {}),
  };
}

async function readTools(
  reading: Reading,
  parsed: ParsedFile,
  tools: WorldFile['tools'],
): Promise<SimulatedTools[] | undefined> {
  if (tools === undefined || tools.length === 0) {
    if (tools !== undefined || !parsed.has(['tools']))
      reading.report(parsed, tools === undefined ? [] : ['tools'], {
        code: 'missing',
        message: 'a simulated world needs the definitions of its tools',
        hint: 'Add `tools: [{ file: tools.json }]`.',
        fixes: tools === undefined ? [{ do: 'insert', path: [], key: 'tools', value: '[{ file: tools.json }]' }] : [],
      });
    return undefined;
  }
  const found: SimulatedTools[] = [];
  const names = new Set<string>();
  let complete = true;
  for (const [index, entry] of tools.entries()) {
    const at: Path = ['tools', index];
    if (typeof entry === 'string') {
      complete = false;
      reading.report(parsed, at, {
        code: 'value',
        message: 'a simulated world takes its tools from files, modules, MCP servers, and recordings',
        hint: 'Write `{ file: tools.json }`, a file with the definitions.',
      });
    } else if ('file' in entry) {
      const definitions = await readFile(reading, parsed, [...at, 'file'], entry.file);
      if (definitions === undefined) complete = false;
      else {
        found.push({ at, definitions });
        for (const { name } of definitions) {
          if (names.has(name)) {
            complete = false;
            reading.report(parsed, at, {
              code: 'conflict',
              message: `two tools are named \`${name}\``,
              hint: 'Remove one of them from its file.',
            });
          }
          names.add(name);
        }
      }
    } else if ('recorded' in entry) {
      const { recorded, tools: only } = entry;
      found.push({ at, recorded, ...(only === undefined ? {} : { tools: only }) });
    } else found.push({ at, entry });
  }
  await checkTools(reading, parsed, ['tools'], tools.map(entryOf));
  return complete ? found : undefined;
}

/** Returns what workers could open; undefined for what only defines tools. */
function entryOf(entry: NonNullable<WorldFile['tools']>[number]): ToolEntry | undefined {
  return typeof entry === 'string' || 'file' in entry || 'recorded' in entry ? undefined : entry;
}

/** Returns whether the files exist from which the state is taken. */
async function checkState(reading: Reading, parsed: ParsedFile, state: StateSource): Promise<boolean> {
  const { sql, file, files = [] } = state;
  const named: (readonly [Path, string])[] = [
    ...(sql === undefined ? [] : [[['state', 'sql', 'database'], sql.database] as const]),
    ...(file === undefined ? [] : [[['state', 'file'], file] as const]),
    ...files.map((written, index) => [['state', 'files', index], written] as const),
  ];
  let complete = true;
  for (const [at, written] of named) if ((await reading.locate(parsed, at, written)) === undefined) complete = false;
  return complete;
}

/** Returns whether the database of the facts exists, and the world can have facts. */
async function checkFacts(
  reading: Reading,
  parsed: ParsedFile,
  { facts, domain }: Partial<WorldFile>,
): Promise<boolean> {
  if (domain !== 'search' && domain !== undefined)
    reading.report(parsed, parsed.has(['domain']) ? ['domain'] : ['facts'], {
      code: 'conflict',
      message: `a world of the domain \`${domain}\` has no \`facts\``,
      hint: 'Write `domain: search`, or take the rows as the initial state: `state: { sql: { database: … } }`.',
    });
  if (parsed.has(['real']))
    reading.report(parsed, ['real'], {
      code: 'conflict',
      message: 'a world with `facts` has no `real` world',
      hint: 'Remove one of them.',
    });
  return facts !== undefined && (await reading.locate(parsed, ['facts', 'database'], facts.database)) !== undefined;
}

async function readFile(
  reading: Reading,
  parsed: ParsedFile,
  at: Path,
  written: string,
): Promise<ToolDefinition[] | undefined> {
  const path = await reading.locate(parsed, at, written);
  const file = path === undefined ? undefined : await reading.parse(path, { parsed, at });
  if (file === undefined || file.problems.some(({ severity }) => severity === 'error')) return undefined;
  const items = definitionItems(file.value as Json); // parsed from JSON or YAML
  if (items.length === 0) {
    reading.report(file, [], {
      code: 'value',
      message: 'the file has no tool definitions',
      hint:
        'It must be a list of tools, or an object with a list `tools`, as the answer of an MCP server to ' +
        '`tools/list`.',
    });
    return undefined;
  }
  const definitions = items.flatMap(({ definition }) => definition ?? []);
  for (const { at: place, definition } of items)
    if (definition === undefined)
      reading.report(file, place, {
        code: 'value',
        message: 'this is not a tool definition',
        hint: 'It needs a `name`, and its parameters as a JSON schema in `inputSchema`.',
      });
  return definitions.length === items.length ? definitions : undefined;
}
