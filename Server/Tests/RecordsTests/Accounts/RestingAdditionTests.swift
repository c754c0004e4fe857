import PersonalInformation
import Records
import Testing
import _Primitives

@Suite("Decision 91: values and passwords that rest with a disowned change")
struct RestingAdditionTests {
    @Test("E-mail addresses are equal in any case of A to Z")
    func emails() {
        let value = RestingValue.email("Ada@Example.org")
        #expect(value.attribute == .email)
        let values = [
            (id: "1", text: "ada@example.ORG"), (id: "2", text: "adam@example.org"), (id: "3", text: "Ada@Example.org"),
        ]
        #expect(value.identifiers(among: values) == ["1", "3"])
        #expect(value.identifiers(among: []).isEmpty)
        #expect(RestingValue.email("É@example.org").identifiers(among: [(id: "1", text: "é@example.org")]).isEmpty)
    }

    @Test("Phone numbers are equal byte by byte")
    func phones() {
        let value = RestingValue.phone("+48111a")
        #expect(value.attribute == .phoneNumber)
        #expect(value.identifiers(among: [(id: "1", text: "+48111A"), (id: "2", text: "+48111a")]) == ["2"])
    }

    /// A case of a password that rests.
    struct PasswordCase: Sendable {
        /// `true` if the disowned change has set the password; otherwise a second factor rests.
        let isOfChange: Bool
        let moved: Int
        let takenOver: Int
        let takesOver: Bool
        let isReplaced: Bool
    }

    @Test(
        "A password gives way to an unknown password if it rests, or if it rests with another change already",
        arguments: [
            PasswordCase(isOfChange: true, moved: 1, takenOver: 0, takesOver: false, isReplaced: true),
            PasswordCase(isOfChange: true, moved: 0, takenOver: 1, takesOver: true, isReplaced: true),
            PasswordCase(isOfChange: true, moved: 0, takenOver: 0, takesOver: true, isReplaced: false),
            PasswordCase(isOfChange: false, moved: 1, takenOver: 0, takesOver: false, isReplaced: true),
            PasswordCase(isOfChange: false, moved: 0, takenOver: 0, takesOver: false, isReplaced: false),
        ])
    func passwords(given: PasswordCase) throws {
        let moment = Timestamp(seconds: 1000)
        let password =
            given.isOfChange
            ? RestingPassword(ofChangeAt: moment) : try #require(RestingPassword(besideFactors: 1))
        #expect(password.setSince == (given.isOfChange ? moment : Timestamp(milliseconds: 0)))
        #expect(password.takesOverResting(moved: given.moved) == given.takesOver)
        #expect(password.isReplaced(moved: given.moved, takenOver: given.takenOver) == given.isReplaced)
    }

    @Test("No password rests beside a second factor that stays")
    func noFactor() { #expect(RestingPassword(besideFactors: 0) == nil) }
}
