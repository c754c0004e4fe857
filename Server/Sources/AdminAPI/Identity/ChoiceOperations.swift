import Accounts
import Endpoints
import HTTPTypes
import PersonalInformation
import _Primitives

/// The operations for the values that people have chosen for services of personalised identities.
struct ChoiceOperations: Sendable {
    let identities: IdentityDirectory

    private static let path = "/accounts/{username}/choices"

    private static let choice: [AdminOperation.Field] = [
        .required("service", "The client that gets the value."),
        .required("attribute", .choice(PersonalAttribute.allCases.map(\.rawValue)), "What it is a value of."),
        .required("value", "The value, by its id."), .required("alias", "What its owner calls it."),
    ]

    var operations: [AdminOperation] {
        [
            AdminOperation(
                method: .get, path: Self.path, id: "listChoices",
                summary: "List which value of each attribute a person has chosen for which service: names, no values.",
                answer: [.required("choices", .objects(Self.choice), "By service, then by attribute.")],
                refusals: [(404, "There is no such account.")], handler: self.list),
            AdminOperation(
                method: .get, path: Self.path + "/{id}", id: "showChoice",
                summary: "Show which value of each attribute a person has chosen for one service, by its client.",
                answer: [.required("choices", .objects(Self.choice), "By attribute.")],
                refusals: [(404, "There is no such account, or it has chosen nothing for such a service.")],
                handler: self.show),
            AdminOperation(
                method: .delete, path: Self.path + "/{id}", id: "removeChoice",
                summary: "Forget what a person has chosen for a service, by its client: they are asked again there.",
                status: .noContent,
                refusals: [(404, "There is no such account, or it has chosen nothing for such a service.")],
                handler: self.remove),
        ]
    }

    private static func json(_ choice: IdentityDirectory.Choice) -> JSONObject {
        [
            "service": .string(choice.service), "attribute": .string(choice.attribute.rawValue),
            "value": .string(choice.value), "alias": .string(choice.alias),
        ]
    }

    @Sendable private func list(_ call: AdminOperation.Call) async throws -> JSONObject {
        ["choices": .array(try await self.identities.choices(call.account).map { .object(Self.json($0)) })]
    }

    @Sendable private func show(_ call: AdminOperation.Call) async throws -> JSONObject {
        let choices = try await self.identities.choices(call.account).filter { $0.service.hasSameBytes(as: call.id) }
        guard !choices.isEmpty else { throw AccountError(.notFound) }
        return ["choices": .array(choices.map { .object(Self.json($0)) })]
    }

    @Sendable private func remove(_ call: AdminOperation.Call) async throws -> JSONObject {
        try await self.identities.removeChoice(call.account, service: call.id, by: call.actor)
        return [:]
    }
}
