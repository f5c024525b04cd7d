/**
 * One argument of a form, and what is within it: a control that its schema asks for, with what it is and what is wrong.
 */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { isSameJson, type Json, type JsonObject } from '../../../src/common/json.ts';
import { valueText } from '../../../src/trace/text/values.ts';
import { Button } from '../../components/controls.tsx';
import { describe, type FieldDescription, type Shape } from './shape.ts';
import {
  asJson,
  boundsText,
  type FormProblem,
  type FormValue,
  firstValue,
  fits,
  isList,
  isMembers,
  nearestOption,
  othersIn,
  type Path,
  Unread,
} from './value.ts';

/** What every field of a form needs. */
interface FormContext {
  readonly root: JsonObject;
  readonly problems: readonly FormProblem[];
}

interface FieldProps {
  readonly context: FormContext;
  readonly path: Path;
  /** What it is called; of an item its number. */
  readonly name: string;
  readonly schema: Json;
  readonly required: boolean;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
  /** Behind its name. */
  readonly children?: ComponentChildren;
}

/** The control's id in the document. */
export function idOf(path: Path): string {
  return `argument-${path.map((part) => encodeURIComponent(part)).join('/')}`;
}

function Field(props: FieldProps) {
  const { context, path, name, schema: given, required, value, onChange, children } = props;
  const described = describe(given, context.root);
  const { schema, shape } = described;
  const id = idOf(path);
  const problem = context.problems.find((one) => isSamePath(one.path, path));
  const description = typeof schema['description'] === 'string' ? schema['description'] : undefined;
  const hint = [
    boundsText(schema),
    ...(schema['default'] === undefined ? [] : [`${valueText(schema['default'])} by default`]),
  ]
    .filter((text) => text !== '')
    .join(' · ');
  const group = shape.kind === 'object' || shape.kind === 'list' || shape.kind === 'variants';
  const item = typeof path.at(-1) === 'number'; // there is no item that is left out
  const label = (
    <>
      {name}
      {required && !item && (
        <span class="field-required" title="required">
          <span aria-hidden="true"> *</span>
          <span class="only-read"> required</span>
        </span>
      )}
    </>
  );
  const told = [
    ...(description === undefined ? [] : [`${id}-description`]),
    ...(hint === '' ? [] : [`${id}-hint`]),
    ...(problem === undefined ? [] : [`${id}-problem`]),
  ].join(' ');
  const control = {
    id,
    'aria-describedby': told === '' ? undefined : told,
    'aria-invalid': problem !== undefined,
    'aria-required': required,
  };
  const within = value !== undefined || !group || shape.kind === 'variants';
  return (
    <div
      class={`field is-${shape.kind}${problem === undefined ? '' : ' is-wrong'}`}
      {...(group ? { role: 'group', 'aria-labelledby': `${id}-label` } : {})}
    >
      <div class="field-head">
        {group ? (
          <span class="field-name" id={`${id}-label`}>
            {label}
          </span>
        ) : (
          <label class="field-name" for={id}>
            {label}
          </label>
        )}
        {hint !== '' && (
          <span class="field-hint dim" id={`${id}-hint`}>
            {hint}
          </span>
        )}
        <span class="grow" />
        {group && shape.kind !== 'variants' && value === undefined && (
          <span id={`${id}-add`}>
            <Button kind="secondary" label={`Set ${name}`} onClick={() => onChange(firstValue(given, context.root))} />
          </span>
        )}
        {group && shape.kind !== 'variants' && value !== undefined && !required && (
          <Button kind="icon" icon="close" label={`Leave out ${name}`} onClick={() => onChange(undefined)} />
        )}
        {children}
      </div>
      {description !== undefined && (
        <p class="field-description dim" id={`${id}-description`}>
          {description}
        </p>
      )}
      {within && <Control {...props} described={described} control={control} />}
      {problem !== undefined && (
        <p class="field-problem" id={`${id}-problem`}>
          {problem.text}
        </p>
      )}
    </div>
  );
}

function isSamePath(a: Path, b: Path): boolean {
  return a.length === b.length && a.every((part, index) => part === b[index]);
}

interface ControlProps extends FieldProps {
  readonly described: FieldDescription;
  readonly control: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': boolean;
    readonly 'aria-required': boolean;
    readonly 'aria-label'?: string;
  };
}

function Control(props: ControlProps) {
  const {
    described: { shape, schema },
    control,
    value,
    required,
    onChange,
  } = props;
  switch (shape.kind) {
    case 'text': {
      const text = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(asJson(value));
      const write = (next: string): void => onChange(next === '' && !required ? undefined : next);
      return shape.lines === 'one' ? (
        <input
          class="input"
          type="text"
          spellcheck={false}
          {...control}
          value={text}
          onInput={(event) => write(event.currentTarget.value)}
        />
      ) : (
        <Area control={control} text={text} least={1} onInput={write} />
      );
    }
    case 'number':
      return <NumberInput control={control} integer={shape.integer} value={value} onChange={onChange} />;
    case 'flag':
      return required ? (
        <input
          class="field-flag"
          type="checkbox"
          {...control}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      ) : (
        <Choice control={control} values={[true, false]} required={false} value={value} onChange={onChange} />
      );
    case 'enum':
      return <Choice control={control} values={shape.values} required={required} value={value} onChange={onChange} />;
    case 'null':
      return (
        <code class="dim" id={control.id}>
          null
        </code>
      );
    case 'variants':
      return <Variants {...props} shape={shape} />;
    case 'list':
      return <Items {...props} shape={shape} />;
    case 'object':
      return <Members {...props} shape={shape} />;
    case 'json':
      return (
        <JsonArea
          control={control}
          placeholder={typeof schema['type'] === 'string' ? `${schema['type']}, as JSON` : 'JSON'}
          value={value}
          onChange={onChange}
        />
      );
  }
}

function Area({
  control,
  text,
  least,
  placeholder,
  onInput,
}: {
  readonly control: ControlProps['control'];
  readonly text: string;
  readonly least: number;
  readonly placeholder?: string;
  readonly onInput: (text: string) => void;
}) {
  const rows = Math.min(16, Math.max(least, text.split('\n').length + Math.floor(text.length / 100)));
  return (
    <textarea
      class="input is-area"
      {...control}
      rows={rows}
      value={text}
      placeholder={placeholder ?? ''}
      spellcheck={false}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  );
}

/** The text of a field as it is typed, for as long as it says the value: `1.50` stays `1.50`. */
function useTyped(
  value: FormValue,
  read: (text: string) => FormValue,
  write: (value: Json) => string,
): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState<string>();
  const said = typed === undefined ? undefined : read(typed);
  const same =
    typed !== undefined &&
    said instanceof Unread === value instanceof Unread &&
    isSameJson(asJson(said), asJson(value));
  const json = asJson(value);
  return [same ? typed : value instanceof Unread ? value.text : json === undefined ? '' : write(json), setTyped];
}

function NumberInput({
  control,
  integer,
  value,
  onChange,
}: {
  readonly control: ControlProps['control'];
  readonly integer: boolean;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
}) {
  const [text, setTyped] = useTyped(value, readNumber, (json) =>
    typeof json === 'string' ? json : JSON.stringify(json),
  );
  return (
    <input
      class="input is-number"
      type="text"
      inputMode={integer ? 'numeric' : 'decimal'}
      spellcheck={false}
      {...control}
      value={text}
      onInput={(event) => {
        setTyped(event.currentTarget.value);
        onChange(readNumber(event.currentTarget.value));
      }}
    />
  );
}

function readNumber(text: string): FormValue {
  if (text.trim() === '') return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : new Unread(text);
}

function JsonArea({
  control,
  placeholder,
  value,
  onChange,
}: {
  readonly control: ControlProps['control'];
  readonly placeholder: string;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
}) {
  const [text, setTyped] = useTyped(value, readJson, (json) => JSON.stringify(json, null, 2));
  return (
    <Area
      control={control}
      text={text}
      least={2}
      placeholder={placeholder}
      onInput={(next) => {
        setTyped(next);
        onChange(readJson(next));
      }}
    />
  );
}

function readJson(text: string): Json | Unread | undefined {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return new Unread(text); // what is wrong with it is told beside it
  }
}

const LEFT_OUT = 'none';

function Choice({
  control,
  values,
  required,
  value,
  onChange,
}: {
  readonly control: ControlProps['control'];
  readonly values: readonly Json[];
  readonly required: boolean;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
}) {
  const json = asJson(value);
  const at = values.findIndex((one) => isSameJson(one, json));
  return (
    <select
      class="input is-choice"
      {...control}
      value={at === -1 ? LEFT_OUT : String(at)}
      onChange={(event) => onChange(values[Number(event.currentTarget.value)])}
    >
      {(!required || at === -1) && (
        <option value={LEFT_OUT}>{value === undefined || !required ? 'left out' : valueText(json ?? null)}</option>
      )}
      {values.map((one, index) => (
        <option key={index} value={String(index)}>
          {valueText(one)}
        </option>
      ))}
    </select>
  );
}

function Variants({
  context,
  path,
  name,
  described,
  required,
  value,
  onChange,
  control,
  shape,
}: ControlProps & { readonly shape: Extract<Shape, { kind: 'variants' }> }) {
  const { root } = context;
  const [chosen, setChosen] = useState<number>();
  const keeps = chosen !== undefined && fitsOption(shape, chosen, root, value);
  const at = value === undefined && chosen === undefined ? -1 : keeps ? chosen : nearestOption(described, root, value);
  const option = shape.options[at];
  const choose = (text: string): void => {
    const next = shape.options[Number(text)];
    setChosen(next === undefined ? undefined : Number(text));
    onChange(next === undefined ? undefined : firstValue(next.schema, root));
  };
  const inner = option === undefined ? undefined : describe(option.schema, root);
  return (
    <>
      <select
        class="input is-choice"
        id={control.id}
        aria-label={`${name}: kind`}
        aria-invalid={control['aria-invalid']}
        value={option === undefined ? LEFT_OUT : String(at)}
        onChange={(event) => choose(event.currentTarget.value)}
      >
        {(!required || option === undefined) && <option value={LEFT_OUT}>left out</option>}
        {shape.options.map((one, index) => (
          <option key={index} value={String(index)}>
            {one.name}
          </option>
        ))}
      </select>
      {option !== undefined && inner !== undefined && inner.shape.kind !== 'null' && (
        <Control
          key={at}
          context={context}
          path={path}
          name={name}
          schema={option.schema}
          required
          value={value}
          onChange={onChange}
          described={inner}
          control={{ ...control, id: `${control.id}-value`, 'aria-label': name }}
        />
      )}
    </>
  );
}

function fitsOption(
  shape: Extract<Shape, { kind: 'variants' }>,
  at: number,
  root: JsonObject,
  value: FormValue,
): boolean {
  const option = shape.options[at];
  if (option === undefined) return false;
  return value === undefined || value instanceof Unread || fits(describe(option.schema, root), value);
}

function Items({
  context,
  path,
  name,
  shape,
  value,
  onChange,
}: ControlProps & { readonly shape: Extract<Shape, { kind: 'list' }> }) {
  const items = isList(value) ? value : [];
  const moved = (from: number, to: number): void => {
    const next = [...items];
    next.splice(to, 0, ...next.splice(from, 1));
    onChange(next);
    focusOn(`${idOf([...path, to])}-${to < from ? 'up' : 'down'}`);
  };
  return (
    <div class="field-items">
      {items.map((item, index) => (
        <Field
          key={index}
          context={context}
          path={[...path, index]}
          name={`${index + 1}`}
          schema={shape.items}
          required
          value={item}
          onChange={(next) => onChange(items.with(index, next))}
        >
          <span class="field-moves" id={`${idOf([...path, index])}-up`}>
            {index > 0 && (
              <Button
                kind="icon"
                icon="chevron-up"
                label={`Move ${name} ${index + 1} up`}
                onClick={() => moved(index, index - 1)}
              />
            )}
          </span>
          <span class="field-moves" id={`${idOf([...path, index])}-down`}>
            {index < items.length - 1 && (
              <Button
                kind="icon"
                icon="chevron-down"
                label={`Move ${name} ${index + 1} down`}
                onClick={() => moved(index, index + 1)}
              />
            )}
          </span>
          <Button
            kind="icon"
            icon="trash"
            label={`Remove ${name} ${index + 1}`}
            onClick={() => {
              onChange(items.toSpliced(index, 1));
              focusOn(`${idOf(path)}-add`);
            }}
          />
        </Field>
      ))}
      <div id={`${idOf(path)}-add`}>
        <Button
          kind="secondary"
          icon="add"
          label={`Add to ${name}`}
          onClick={() => {
            onChange([...items, firstValue(shape.items, context.root)]);
            focusOn(idOf([...path, items.length]));
          }}
        />
      </div>
    </div>
  );
}

/** A control, or the first one in a part, once it is drawn; of a list or an object what adds to it. */
export function focusOn(id: string): void {
  requestAnimationFrame(() => {
    const part = document.getElementById(id) ?? document.getElementById(`${id}-add`);
    const control =
      part?.matches('input, textarea, select') === true
        ? part
        : part?.querySelector<HTMLElement>('input, textarea, select, vscode-button');
    control?.focus();
  });
}

function Members({
  context,
  path,
  described,
  shape,
  value,
  onChange,
}: ControlProps & { readonly shape: Extract<Shape, { kind: 'object' }> }) {
  const members = isMembers(value) ? value : {};
  return (
    <MemberFields
      context={context}
      path={path}
      described={described}
      members={members}
      shape={shape}
      onChange={onChange}
    />
  );
}

interface MemberFieldsProps {
  readonly context: FormContext;
  readonly path: Path;
  readonly described: FieldDescription;
  readonly shape: Extract<Shape, { kind: 'object' }>;
  readonly members: Readonly<Record<string, FormValue>>;
  readonly onChange: (members: Readonly<Record<string, FormValue>>) => void;
}

/** A field for each member of an object. */
export function MemberFields({ context, path, described, shape, members, onChange }: MemberFieldsProps) {
  const others = othersIn(described, members);
  return (
    <div class="field-members">
      {shape.members.map(({ name, schema, required }) => (
        <Field
          key={name}
          context={context}
          path={[...path, name]}
          name={name}
          schema={schema}
          required={required}
          value={members[name]}
          onChange={(next) => onChange({ ...members, [name]: next })}
        />
      ))}
      {others.length > 0 && described.schema['additionalProperties'] !== false && (
        <p class="field-hint dim">Beside these: {others.join(', ')} (as JSON)</p>
      )}
    </div>
  );
}
