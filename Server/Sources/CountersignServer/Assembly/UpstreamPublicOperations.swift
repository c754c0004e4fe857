import HTTPTypes

extension PublicOperations {
    /// The operations by which browsers go to another provider and back, and by which a person's phone sees and ends
    /// connections with a provider.
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
                (503, "More have come back at once than can wait. Nothing is spent, and the page leads back."),
            ]),
        PublicOperation(
            method: .post, path: "/sign-in/provider/{name}/connect", id: "connectIdentity",
            summary: "The person wants what they are there connected with the account that they sign in to next.",
            body: (.form, [Self.signInRequest, Self.service, .optional("confirmation", "What the page's form has.")]),
            answers: [Self.goOn], refusals: .pages, refusing: [Self.unknown]),
        PublicOperation(
            method: .get, path: "/account/v1/links", id: "links",
            summary: "The other providers that sign the person in.", caller: .token,
            answers: [
                .init(
                    status: 200, meaning: "Connections.", type: "application/json",
                    members: [
                        .required("username", "Whose."),
                        .required(
                            "links",
                            .objects([
                                .required("id", "The connection."), .required("provider", "The provider, by its name."),
                                .required("title", "What people call it."), .required("connectedAt", "RFC 3339."),
                            ]), "The oldest first."),
                    ])
            ], refusing: [(403, "The account is locked.")]),
        PublicOperation(
            method: .delete, path: "/account/v1/links/{id}", id: "endLink",
            summary: "End such a connection; what the person has signed in to by it ends.", caller: .token,
            answers: [.init(status: 204, meaning: "It has ended.")],
            refusing: [(403, "The account is locked."), (404, "There is no such connection.")]),
    ]
}
