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
            let fields = JSONObject(object.members.filter { !$0.name.hasSameBytes(as: "type") })
            return try Payment(json: fields, maximumLength: textCharacters).text.text
        }
    }
}
