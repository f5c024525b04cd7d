/** Lets test objects hold only the fields that a test is about; the API's models require many more. */
export type Partially<T> = T extends readonly (infer Item)[]
  ? Partially<Item>[]
  : T extends object
    ? string extends keyof T
      ? T
      : { [Key in keyof T]?: Partially<T[Key]> }
    : T;
