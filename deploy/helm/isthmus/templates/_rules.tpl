{{/* Exactly the rights of the table in src/control/objects/needed-rights.ts. A test compares the two. */}}

{{/* In the namespace of the clusters. */}}
{{- define "isthmus.clusterRules" }}
# Isthmus finds the clusters and their networks here, and never writes them.
- apiGroups: [infrastructure.cluster.x-k8s.io]
  resources: [openstackclusters]
  verbs: [list, watch]
# Isthmus rewrites the server in a kubeconfig, and restores it later. It lists and watches only metadata.
- apiGroups: [""]
  resources: [secrets]
  verbs: [list, watch, get, patch]
# Events report what happened to a cluster.
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
# AdditionalListeners ask for more ports of a cluster, and their status says what became of them (docs/how-to/listeners.md).
- apiGroups: [isthmus.dev]
  resources: [additionallisteners]
  verbs: [list, watch]
- apiGroups: [isthmus.dev]
  resources: [additionallisteners/status]
  verbs: [patch]
# Machines of control planes are further ways to the API server. All machines are watched only while an additional listener exists.
- apiGroups: [cluster.x-k8s.io]
  resources: [machines]
  verbs: [list, watch]
{{- end }}

{{/* In the namespace of the Services. */}}
{{- define "isthmus.publishRules" }}
# One Service for each proxied cluster and each additional listener.
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch, create, patch, delete]
# One slice for each Service and instance, while the instance reaches a backend.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch, create, patch, delete]
# One Lease for each instance: it shows that the instance is alive.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list, watch, get, create, patch, delete]
{{- end }}

{{/* For objects without a namespace. */}}
{{- define "isthmus.nodeRules" }}
# Only for nodeParticipation: each instance reads the labels of its own Node. All instances share one account, so the rule cannot name a
# single Node.
- apiGroups: [""]
  resources: [nodes]
  verbs: [list, watch]
{{- end }}
