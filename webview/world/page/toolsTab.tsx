/** The tools of a world: a list, and the selected one with its parameters. */
import { isJsonObject, type Json, type JsonObject } from '../../../src/common/json.ts';
import { oneLine } from '../../../src/common/text.ts';
import type { WorldTool } from '../../../src/protocol/worldPage.ts';
import { valueText } from '../../../src/trace/text/values.ts';
import { Button } from '../../components/controls.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { FilteredList } from './filteredList.tsx';
import type { TabProps } from './worldPage.tsx';

const ROW_HEIGHT = 24;

export function ToolsTab({ session, details }: TabProps) {
  const { tools } = details;
  if (tools.length === 0)
    return (
      <EmptyState
        icon="tools"
        title="No tools"
        text={
          details.kind === 'code'
            ? 'The published files describe no tools for this scenario.'
            : 'No tool was found in the module of this world. Tools are returned by its `open` function.'
        }
      />
    );
  const selected = tools[session.tool];
  return (
    <div class="world-columns">
      <FilteredList
        label="Tools"
        filterLabel="Filter tools"
        items={tools}
        rowHeight={ROW_HEIGHT}
        keyOf={({ name }) => name}
        textOf={textOf}
        row={row}
        isSelected={(_tool, index) => index === session.tool}
        onSelect={(_tool, index) => session.select({ tool: index })}
        onOpen={(tool) => openSource(session, tool)}
      />
      <section class="world-detail" aria-label="Selected tool">
        {selected !== undefined && <ToolDetail session={session} details={details} tool={selected} />}
      </section>
    </div>
  );
}

function textOf({ name, request = '', summary, description }: WorldTool): string {
  return [name, request, summary, description].join('\n');
}

function openSource(session: TabProps['session'], tool: WorldTool | undefined): void {
  if (tool?.line === undefined) return;
  if (tool.file !== undefined) session.post({ type: 'file', file: tool.file, line: tool.line });
  else session.post({ type: 'open', part: 'code', line: tool.line });
}

function row(tool: WorldTool) {
  return (
    <div class="world-row" title={tool.summary}>
      <code class="world-row-name">{tool.name}</code>
      <span class="world-row-text dim">{oneLine(tool.summary, 200)}</span>
    </div>
  );
}

function ToolDetail({ session, tool }: TabProps & { readonly tool: WorldTool }) {
  const { name, request, summary, description, parameters, line, file } = tool;
  return (
    <>
      <header class="section-head">
        <h2>
          <code>{name}</code>
        </h2>
        {request !== undefined && <code class="dim world-request">{request}</code>}
        <span class="grow" />
        {line !== undefined && file === undefined && (
          <Button kind="secondary" label="Show Code" onClick={() => session.select({ tab: 'code', codeLine: line })} />
        )}
        {line !== undefined && (
          <Button
            kind="icon"
            icon="go-to-file"
            label={`Open the code of ${name} in an editor`}
            onClick={() => openSource(session, tool)}
          />
        )}
      </header>
      {summary !== '' && <p class="world-text">{summary}</p>}
      {description !== '' && description !== summary && <p class="world-text dim">{description}</p>}
      {parameters === undefined ? (
        <p class="world-remark">Its parameters are known only once the world is open.</p>
      ) : (
        <Parameters schema={parameters} />
      )}
    </>
  );
}

function Parameters({ schema }: { readonly schema: JsonObject }) {
  const properties = isJsonObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  if (properties.length === 0) return <p class="world-remark">It takes no arguments.</p>;
  return (
    <div class="world-parameters" tabIndex={0} role="region" aria-label="Parameters">
      <table class="world-table">
        <thead>
          <tr>
            <th scope="col">parameter</th>
            <th scope="col">type</th>
            <th scope="col">description</th>
          </tr>
        </thead>
        <tbody>
          {properties.map(([name, property]) => (
            <tr key={name}>
              <th scope="row">
                {name}
                {required.includes(name) && (
                  <span class="field-required" title="required">
                    {' '}
                    *
                  </span>
                )}
              </th>
              <td>{memberText(property, 'type')}</td>
              <td class="world-parameter-text">{describe(property)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function describe(property: Json): string {
  const examples = isJsonObject(property) && Array.isArray(property['examples']) ? property['examples'] : [];
  return [
    memberText(property, 'description'),
    ...(examples[0] === undefined ? [] : [`Example: ${valueText(examples[0])}`]),
  ]
    .filter((text) => text !== '')
    .join(' · ');
}

function memberText(property: Json, name: string): string {
  const value = isJsonObject(property) ? property[name] : undefined;
  return value === undefined ? '' : valueText(value);
}
