import Ceremony
import CeremonyEngine
import OAuth
import OAuthProvider
import _Primitives

extension DetailType {
    /// The types that there are.
    static func all(textCharacters: Int) -> [DetailType] { [.payment(textCharacters: textCharacters)] }

    /// A payment: its fields make the one text that the phone shows as a table, and signs (decision 9).
    private static func payment(textCharacters: Int) -> DetailType {
        let type = AuthorizationDetailsType(
            "payment", required: ["amount", "currency", "payee"],
            optional: ["iban", "account", "reference", "executionDate"])
        return DetailType(type) { object in
            try Payment(json: Self.fields(object), maximumLength: textCharacters).text.text
        } spelling: { object in
            // No setting of the operator's bounds this: what was granted before is read whatever they set since.
            var spelled: JSONObject = ["type": .string(type.name)]
            let payment = try Payment(json: Self.fields(object), maximumLength: TransactionText.maximumLength)
            for (name, value) in payment.json.members { spelled[name] = value }
            return spelled
        }
    }

    private static func fields(_ object: JSONObject) -> JSONObject {
        JSONObject(object.members.filter { !$0.name.hasSameBytes(as: "type") })
    }
}
