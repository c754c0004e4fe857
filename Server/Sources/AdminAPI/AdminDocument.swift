import Endpoints
import HTTPTypes
import _Primitives

/// The OpenAPI 3.1 document of the admin API, made from the API's operations.
struct AdminDocument: Sendable {
    /// The path of the server on its host.
    let server: IssuerPath
    let operations: [AdminOperation]

    var json: JSONObject {
        var paths: JSONObject = [:]
        for operation in self.operations {
            var item: JSONObject = [:]
            if case .object(let present)? = paths[operation.path] { item = present }
            // Methods are our own words.
            // check: unicode-words
            item[operation.method.rawValue.lowercased()] = .object(self.document(of: operation))
            paths[operation.path] = .object(item)
        }
        return [
            "openapi": .string("3.1.0"),
            "info": .object([
                "title": .string("Countersign admin API"), "version": .string("1"),
                "description": .string(
                    "Accounts, devices, clients, enrolment links, tokens and the audit trail. Failures are RFC 9457 problem documents."
                ),
            ]),
            "servers": .array([.object(["url": .string(self.server.text + AdminOperation.prefix)])]),
            "security": .array([.object(["token": .array([])])]),
            "paths": .object(paths),
            "components": .object([
                "securitySchemes": .object([
                    "token": .object(["type": .string("http"), "scheme": .string("bearer")])
                ]),
                "schemas": .object(["Problem": .object(Problem.schema)]),
            ]),
        ]
    }

    private func document(of operation: AdminOperation) -> JSONObject {
        var document: JSONObject = [
            "operationId": .string(operation.id), "summary": .string(operation.summary),
        ]
        if operation.isOpen { document["security"] = .array([]) }
        let parameters =
            operation.parameterNames.map { name in
                JSON.object([
                    "name": .string(name), "in": .string("path"), "required": .bool(true),
                    "schema": .object(["type": .string("string")]),
                ])
            }
            + operation.query.map { field in
                JSON.object([
                    "name": .string(field.name), "in": .string("query"), "description": .string(field.summary),
                    "schema": .object(["type": .string("string")]),
                ])
            }
        if !parameters.isEmpty { document["parameters"] = .array(parameters) }
        if !operation.body.isEmpty {
            document["requestBody"] = .object([
                "required": .bool(true),
                "content": Self.content(.object(DescribedField.schema(operation.body, isClosed: true))),
            ])
        }
        document["responses"] = .object(self.responses(of: operation))
        return document
    }

    private func responses(of operation: AdminOperation) -> JSONObject {
        var responses: JSONObject = [:]
        var success: JSONObject = ["description": .string(operation.status.reasonPhrase)]
        if operation.status != .noContent {
            success["content"] = Self.content(.object(DescribedField.schema(operation.answer)))
        }
        responses[String(operation.status.code)] = .object(success)
        var refusals = operation.refusals
        if !operation.isOpen { refusals.append((401, "No administrator's token.")) }
        if !operation.body.isEmpty {
            refusals += [
                (400, "The body is not the JSON that is asked for."), (413, "The body is too large."),
                (415, "The body is not application/json."),
            ]
        }
        refusals.append((503, "The server cannot store anything just now."))
        for (status, meaning) in refusals.sorted(by: { $0.status < $1.status }) {
            responses[String(status)] = .object([
                "description": .string(meaning),
                "content": .object([
                    "application/problem+json": .object([
                        "schema": .object(["$ref": .string("#/components/schemas/Problem")])
                    ])
                ]),
            ])
        }
        return responses
    }

    private static func content(_ schema: JSON) -> JSON {
        .object(["application/json": .object(["schema": schema])])
    }
}
