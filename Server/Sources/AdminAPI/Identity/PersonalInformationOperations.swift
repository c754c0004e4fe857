import Accounts
import Endpoints
import HTTPTypes
import PersonalInformation
import Records
import _Primitives

/// The operations for people's values of the attributes that services of personalised identities request, and for the
/// results of people's sessions.
struct PersonalInformationOperations: Sendable {
    let identities: IdentityDirectory

    private static let path = "/accounts/{username}/attributes"
    private static let notFound = [(status: 404, meaning: "There is no such account.")]
    private static let noValue = [(status: 404, meaning: "There is no such account, or it has no such value.")]
    private static let opening = AdminOperation.Field.optional(
        "values", "true for the values themselves, which are opened for it.")

    private static let alias: [AdminOperation.Field] = [
        .required("id", "What phones call the value by."),
        .required("attribute", .choice(PersonalAttribute.allCases.map(\.rawValue)), "What it is a value of."),
        .required("alias", "What its owner calls it."),
        .required("primary", .boolean, "Whether it is the one that is offered first."),
        .required("verified", .boolean, "Whether somebody has seen to it that it is true."),
    ]

    private static let value: [AdminOperation.Field] =
        Self.alias + [
            .optional("value", "The value, where it was asked for."),
            .optional(
                "source", .choice(PersonalValueRecord.Source.allCases.map(\.rawValue)),
                "Who brought it, where values were asked for."),
            .optional("createdAt", "RFC 3339, where values were asked for."),
        ]

    private static let session: [AdminOperation.Field] = [
        .required("purpose", "What it was for."),
        .optional("service", "The client that it was at; missing for what the account has done with itself."),
        .optional("role", "The role in which the person came."),
        .required(
            "outcome", .choice(IdentityHistoryRecord.Outcome.allCases.map(\.rawValue)), "What it came to."),
        .required("at", "RFC 3339."),
        .required("number", .integer, "Its place in the person's history: later ones have higher numbers."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: Self.path, id: "listAttributes",
                summary: "List what a person has of the attributes that services ask for.",
                query: [Self.opening],
                answer: [.required("attributes", .objects(Self.value), "By attribute, the primary value first.")],
                refusals: [(400, "The query is not encoded.")] + Self.notFound, handler: self.list),
            AdminOperation(
                method: .post, path: Self.path, id: "addAttribute",
                summary: "Add a value of an attribute to a person.",
                body: [
                    .required(
                        "attribute", .choice(PersonalAttribute.allCases.map(\.rawValue)), "What it is a value of."),
                    .required("value", "The value."),
                    .optional("alias", "What its owner calls it. Default: the attribute's name, with a number."),
                    .optional("verified", .boolean, "Whether you vouch for it. Default: false."),
                ], answer: Self.alias, status: .created,
                refusals: Self.notFound + [(409, "There are as many values as an attribute can have.")],
                handler: self.add),
            AdminOperation(
                method: .get, path: Self.path + "/{id}", id: "showAttribute",
                summary: "Show a value of an attribute: what it is called, and the value where that is asked for.",
                query: [Self.opening], answer: Self.value,
                refusals: [(400, "The query is not encoded.")] + Self.noValue, handler: self.show),
            AdminOperation(
                method: .patch, path: Self.path + "/{id}", id: "changeAttribute",
                summary: "Change what a value is called, whether it is true, or that it is the primary one.",
                body: [
                    .optional("alias", "What its owner calls it."),
                    .optional("primary", .boolean, "true for the one that is offered first from now on."),
                    .optional("verified", .boolean, "Whether you vouch for it."),
                ], answer: Self.alias, refusals: Self.noValue, handler: self.change),
            AdminOperation(
                method: .delete, path: Self.path + "/{id}", id: "removeAttribute",
                summary: "Delete a value. A service that got it gets no other: the person is asked again.",
                status: .noContent, refusals: Self.noValue, handler: self.remove),
            AdminOperation(
                method: .get, path: "/accounts/{username}/identity-sessions", id: "listIdentitySessions",
                summary: "List what a person's sessions of personalised identities came to.",
                query: [
                    .optional("before", "The number that the page before ended with (`older`)."),
                    .optional("limit", "How many, where fewer are wanted than a page has."),
                ],
                answer: [
                    .required("sessions", .objects(Self.session), "A page, the newest first."),
                    .optional("older", .integer, "The number before which there are older ones, where there are."),
                ],
                refusals: [(400, "The query is not encoded, or before or limit is no number from 1 on.")]
                    + Self.notFound, handler: self.history),
        ]
    }

    private static func json(_ alias: PersonalAlias) -> JSONObject {
        [
            "id": .string(alias.id), "attribute": .string(alias.attribute.rawValue), "alias": .string(alias.text),
            "primary": .bool(alias.isPrimary), "verified": .bool(alias.isVerified),
        ]
    }

    private static func json(_ value: PersonalValueRecord) -> JSONObject {
        var object = Self.json(
            PersonalAlias(
                id: value.id, attribute: value.attribute, text: value.alias, isPrimary: value.isPrimary,
                isVerified: value.isVerified))
        object["value"] = .string(value.value)
        object["source"] = .string(value.source.rawValue)
        object["createdAt"] = .string(value.createdAt.description)
        return object
    }

    private static func opensValues(_ call: AdminOperation.Call) throws -> Bool {
        try call.parameter("values")?.hasSameBytes(as: "true") == true
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard try Self.opensValues(call) else {
            return Self.json(try await self.identities.alias(ofValue: call.id, of: call.account))
        }
        return Self.json(try await self.identities.value(call.id, of: call.account))
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard try Self.opensValues(call) else {
            return [
                "attributes": .array(try await self.identities.aliases(call.account).map { .object(Self.json($0)) })
            ]
        }
        return ["attributes": .array(try await self.identities.values(call.account).map { .object(Self.json($0)) })]
    }

    @Sendable private func add(_ call: AdminOperation.Call) async throws -> JSONObject {
        let entry = IdentityDirectory.Entry(
            attribute: try call.body.requiredString("attribute"), value: try call.body.requiredString("value"),
            alias: try call.body.string("alias"), isVerified: try call.body.bool("verified") ?? false)
        return Self.json(try await self.identities.addValue(entry, to: call.account, by: call.actor))
    }

    @Sendable private func change(_ call: AdminOperation.Call) async throws -> JSONObject {
        guard try call.body.bool("primary") != false else {
            throw Problem(.badRequest, "invalid-request", "Make another value the primary one in its place.")
        }
        let change = PersonalValueChange(
            alias: try call.body.string("alias"), becomesPrimary: try call.body.bool("primary") ?? false,
            isVerified: try call.body.bool("verified"))
        return Self.json(
            try await self.identities.changeValue(
                call.parameters["id"] ?? "", of: call.account, to: change, by: call.actor))
    }

    @Sendable private func remove(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.identities.removeValue(call.parameters["id"] ?? "", of: call.account, by: call.actor)
        return [:]
    }

    @Sendable private func history(_ call: AdminOperation.Call) async throws -> JSONObject {
        func number(_ name: String) throws -> Int64? {
            guard let text = try call.parameter(name) else { return nil }
            guard let number = Int64(text), number > 0 else {
                throw Problem(.badRequest, "invalid-request", "\(name) is no number from 1 on.")
            }
            return number
        }
        let part = try await self.identities.history(
            call.account, before: try number("before"), limit: try number("limit").map { Int($0) })
        let sessions = part.entries.map { entry -> JSON in
            let session = entry.record
            var object: JSONObject = [
                "purpose": .string(session.purpose), "outcome": .string(session.outcome.rawValue),
                "at": .string(session.at.description), "number": .integer(entry.number),
            ]
            object["service"] = session.service.map(JSON.string)
            object["role"] = session.role.map(JSON.string)
            return .object(object)
        }
        var answer: JSONObject = ["sessions": .array(sessions)]
        answer["older"] = part.older.map(JSON.integer)
        return answer
    }
}
