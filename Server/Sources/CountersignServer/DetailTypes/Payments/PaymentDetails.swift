import Ceremony
import CeremonyEngine
import OAuth
import OAuthProvider
import _Primitives

extension DetailType {
    /// Returns the type of a payment. The fields of a payment make the one text that the phone shows as a table, and
    /// signs (decision 9).
    static func payment(textCharacters: Int) -> DetailType {
        let members = Payment.Member.allCases
        let type = AuthorizationDetailsType(
            Payment.word, required: members.filter(\.isRequired).map(\.rawValue),
            optional: members.filter { !$0.isRequired }.map(\.rawValue))
        return DetailType(type) { object in
            try Payment(json: Self.fields(object), maximumLength: textCharacters).text.text
        } spelling: { object in
            // No setting bounds the stored text: the server reads earlier grants even if the operator has since changed
            // the settings.
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
