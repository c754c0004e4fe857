import HTTPTypes

extension PublicOperations {
    /// The way of browsers to another provider and back.
    static let upstream: [PublicOperation] = [
        PublicOperation(
            method: .get, path: "/sign-in/provider/{name}", id: "beginAtProvider",
            summary: "The way to another provider, for people who sign in by it.",
            query: [Self.signInRequest, Self.service], answers: [Self.goOn], refusals: .pages,
            refusing: [Self.unknown, Self.tooMany, (403, "The other provider cannot be reached.")]),
        PublicOperation(
            method: .get, path: "/sign-in/provider/{name}/callback", id: "arriveFromProvider",
            summary: "Where another provider sends browsers back to (RFC 6749, section 4.1.2; RFC 9207).",
            query: [
                .optional("state", "What the way began with; good once."), .optional("code", "What it gives."),
                .optional("iss", "Whose answer it is."), .optional("error", "Why it gives nothing."),
            ], answers: [Self.goOn], refusals: .pages,
            refusing: [
                Self.unknown, (403, "The person is not known here, or is not signed in."),
            ]),
        PublicOperation(
            method: .post, path: "/sign-in/provider/{name}/connect", id: "connectIdentity",
            summary: "The person wants what they are there connected with the account that they sign in to next.",
            body: (.form, [Self.signInRequest, Self.service, .optional("confirmation", "What the page's form has.")]),
            answers: [Self.goOn], refusals: .pages, refusing: [Self.unknown]),
    ]
}
