// Kubernetes objects as they travel: the client library's types, with times as the text that is in the JSON. Types only.

export type Wire<T> = T extends Date
  ? string
  : T extends readonly (infer Item)[]
    ? Wire<Item>[]
    : T extends object
      ? { [Key in keyof T]: Wire<T[Key]> }
      : T;
