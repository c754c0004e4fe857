import PersonalInformation
import Testing
import _Primitives

/// What services are told of attributes, and how their back ends read it.
@Suite struct AttributeClaimsTests {
    private static let spellings: [PersonalAttribute: String] = [
        .username: "ada", .nickname: "Ada", .givenName: "Ada", .familyName: "Lovelace", .birthdate: "1815-12-10",
        .address: "Main Street\n1\n12345\nTown\nDE", .nationality: "DE", .placeOfBirth: "London", .gender: "female",
        .salutation: "Lady", .email: "ada@example.com", .phoneNumber: "+491701234567",
    ]

    @Test(
        "Every attribute comes out of its claim as it went in; an address as the lines of a letter",
        arguments: PersonalAttribute.allCases)
    func roundTrip(_ attribute: PersonalAttribute) throws {
        let spelling = try #require(Self.spellings[attribute])
        let claims: JSONObject = [attribute.claimName: try #require(attribute.claim(of: spelling))]
        let expected = attribute == .address ? "Main Street 1\n12345 Town\nDE" : spelling
        #expect(try attribute.text(in: claims) == expected)
        #expect(try attribute.text(in: [:]) == nil)
    }

    @Test("No two attributes share a claim")
    func names() {
        #expect(Set(PersonalAttribute.allCases.map(\.claimName)).count == PersonalAttribute.allCases.count)
    }

    @Test("A claim of another form is refused, and a text that is no address gives none")
    func malformed() {
        #expect(throws: JSONError.self) { () throws in
            try PersonalAttribute.placeOfBirth.text(in: ["place_of_birth": .string("London")])
        }
        #expect(PersonalAttribute.address.claim(of: "one line") == nil)
    }
}
