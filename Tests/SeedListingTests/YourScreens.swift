import Countersign
import CountersignNames
import Foundation

/// What the app that goes on from the listings asks and shows beside.
extension YourImplementation {
    /// What the person gives for each attribute, one after the other; a question that comes once more is answered as the last.
    struct Answers: Sendable {
        var username: [String?] = ["ada"]
        var nickname: [String?] = ["Ada"]
        var givenName: [String?] = ["Augusta Ada"]
        var familyName: [String?] = ["King"]
        var birthdate: [Date?] = [Date(timeIntervalSince1970: 988_718_400)]
        var address: [Address?] = [
            Address(
                street: "St James's Square", houseNumber: "12", postalCode: "SW1Y 4JH", city: "London", country: "GB")
        ]
        var nationality: [String?] = ["GB"]
        var placeOfBirth: [String?] = ["London"]
        var gender: [Gender?] = [.female]
        var salutation: [String?] = ["Countess"]
        var email: [String?] = ["ada@example.org"]
        var phoneNumber: [String?] = ["+44 20 7946 0018"]
    }

    private static func next<Value>(
        _ answers: WritableKeyPath<Script, [Value?]>, _ attribute: PersonalAttribute, _ errorText: String?
    ) -> Value? {
        self.change { script in
            script.questions.append(errorText.map { "\(attribute): \($0)" } ?? "\(attribute)")
            return script[keyPath: answers].count > 1
                ? script[keyPath: answers].removeFirst() : script[keyPath: answers][0]
        }
    }

    static func askForUsername(_ error: String?) -> String? { self.next(\.answers.username, .username, error) }
    static func askForNickname(_ error: String?) -> String? { self.next(\.answers.nickname, .nickname, error) }
    static func askForGivenName(_ error: String?) -> String? { self.next(\.answers.givenName, .givenName, error) }
    static func askForFamilyName(_ error: String?) -> String? { self.next(\.answers.familyName, .familyName, error) }
    static func askForBirthdate(_ error: String?) -> Date? { self.next(\.answers.birthdate, .birthdate, error) }
    static func askForAddress(_ error: String?) -> Address? { self.next(\.answers.address, .address, error) }
    static func askForNationality(_ error: String?) -> String? { self.next(\.answers.nationality, .nationality, error) }
    static func askForPlaceOfBirth(_ error: String?) -> String? {
        self.next(\.answers.placeOfBirth, .placeOfBirth, error)
    }
    static func askForGender(_ error: String?) -> Gender? { self.next(\.answers.gender, .gender, error) }
    static func askForSalutation(_ error: String?) -> String? { self.next(\.answers.salutation, .salutation, error) }
    static func askForEmail(_ error: String?) -> String? { self.next(\.answers.email, .email, error) }
    static func askForPhoneNumber(_ error: String?) -> String? { self.next(\.answers.phoneNumber, .phoneNumber, error) }

    /// Whether the person lets the service have what it can do without.
    static func askWhetherToGive(_ attribute: PersonalAttribute) -> Bool {
        self.change { script in
            script.questions.append("\(attribute)?")
            return script.gives.count > 1 ? script.gives.removeFirst() : script.gives[0]
        }
    }

    /// Says that the service gets something that nobody is asked for.
    static func tell(_ attribute: PersonalAttribute) { self.change { $0.told.append(attribute) } }

    static func showWhatIsSigned(_ attributes: [ConfirmedAttribute]) {
        let said = attributes.map { confirmed in
            confirmed.alias.map { "\(confirmed.attribute) (\($0))" } ?? "\(confirmed.attribute)"
        }
        self.change { $0.signed.append(said) }
    }

    static func askUserForNewPin(_ minLength: Int, _ maxLength: Int, _ errorText: String?) -> String {
        self.change { script in
            script.errorTexts.append(errorText)
            return script.newPins.count > 1 ? script.newPins.removeFirst() : script.newPins[0]
        }
    }

    static func askWhetherToDelete() -> Bool { self.script.deletes }

    static func waitUntil(_ moment: Date) {
        self.change { $0.waits.append(moment) }
        self.script.wait(moment)
    }
}
