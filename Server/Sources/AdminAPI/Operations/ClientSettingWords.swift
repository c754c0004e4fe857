/// Words of clients' settings that other parts of the server choose, as a sentence lists the words.
package struct ClientSettingWords: Sendable {
    /// The ways to sign in, with their explanations.
    let signInMethods: String
    /// The types of authorization details.
    let detailTypes: String

    /// Names the words.
    package init(signInMethods: String, detailTypes: String) {
        self.signInMethods = signInMethods
        self.detailTypes = detailTypes
    }
}
