/** The controls of single values: text, numbers, choices, and JSON. */
import { useState } from 'preact/hooks';
import { isSameJson, type Json } from '../../../src/common/json.ts';
import { valueText } from '../../../src/trace/text/values.ts';
import { asJson, type FormValue, InvalidText } from './value.ts';

/** Attributes that connect a control with its label, hint, and problem. */
export interface ControlAttributes {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
  readonly 'aria-required': boolean;
  readonly 'aria-label'?: string;
}

export function Area({
  control,
  text,
  minRows,
  placeholder,
  onInput,
}: {
  readonly control: ControlAttributes;
  readonly text: string;
  readonly minRows: number;
  readonly placeholder?: string;
  readonly onInput: (text: string) => void;
}) {
  const rows = Math.min(16, Math.max(minRows, text.split('\n').length + Math.floor(text.length / 100)));
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

/** Keeps the text as typed while it means the value, so that `1.50` stays `1.50`. Returns the text and its setter. */
function useTypedText(
  value: FormValue,
  read: (text: string) => FormValue,
  write: (value: Json) => string,
): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState<string>();
  const parsed = typed === undefined ? undefined : read(typed);
  const isSame =
    typed !== undefined &&
    parsed instanceof InvalidText === value instanceof InvalidText &&
    isSameJson(asJson(parsed), asJson(value));
  const json = asJson(value);
  return [isSame ? typed : value instanceof InvalidText ? value.text : json === undefined ? '' : write(json), setTyped];
}

export function NumberInput({
  control,
  integer,
  value,
  onChange,
}: {
  readonly control: ControlAttributes;
  readonly integer: boolean;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
}) {
  const [text, setTyped] = useTypedText(value, readNumber, (json) =>
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
  return Number.isFinite(number) ? number : new InvalidText(text);
}

export function JsonArea({
  control,
  placeholder,
  value,
  onChange,
}: {
  readonly control: ControlAttributes;
  readonly placeholder: string;
  readonly value: FormValue;
  readonly onChange: (value: FormValue) => void;
}) {
  const [text, setTyped] = useTypedText(value, readJson, (json) => JSON.stringify(json, null, 2));
  return (
    <Area
      control={control}
      text={text}
      minRows={2}
      placeholder={placeholder}
      onInput={(next) => {
        setTyped(next);
        onChange(readJson(next));
      }}
    />
  );
}

function readJson(text: string): Json | InvalidText | undefined {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return new InvalidText(text); // problemsOf reports it
  }
}

/** Value of the option that leaves an argument out. */
export const NOT_SET = 'none';

export function Choice({
  control,
  values,
  required,
  value,
  onChange,
}: {
  readonly control: ControlAttributes;
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
      value={at === -1 ? NOT_SET : String(at)}
      onChange={(event) => onChange(values[Number(event.currentTarget.value)])}
    >
      {(!required || at === -1) && (
        <option value={NOT_SET}>{value === undefined || !required ? 'Not set' : valueText(json ?? null)}</option>
      )}
      {values.map((one, index) => (
        <option key={index} value={String(index)}>
          {valueText(one)}
        </option>
      ))}
    </select>
  );
}
