import Foundation

/// Fixed RSA keys for tests. The keys were made for tests and are published here, so they protect nothing.
public enum FixedRSAKey: String, CaseIterable, Sendable {
    /// The user's key.
    case first
    /// Another key, for attestation or for another person.
    case second
    /// A certificate authority's key.
    case authority
    /// 3072 bits: too long for the registry's formats.
    case large
    /// 2048 bits with the exponent 3.
    case smallExponent

    /// The key as RSAPrivateKey, DER.
    var derRepresentation: Data {
        Data(base64Encoded: self.text, options: .ignoreUnknownCharacters) ?? Data()
    }

    private var text: String {
        switch self {
        case .first: Self.firstText
        case .second: Self.secondText
        case .authority: Self.authorityText
        case .large: Self.largeText
        case .smallExponent: Self.smallExponentText
        }
    }

    private static let firstText = """
        MIIEowIBAAKCAQEA6CLZTWuEFJJ+vEQSlQGtX+LyDkWlYJifXuBzCxCOSk+4EGW2YyOORO5grqB4PGDGFclZya4BGa7vpNqlpTUgE3O8
        kvBqpkm5Q+9oHYSpDL0lfuLGDW844HGY9Smm0RmgQrF/Mcq9iXzKDLjlBB7YDjc8NfMcJMpgWCJwtmv4jQA/EYHdNaNa2lGd7g0x1Kk1
        1ZZdpR18ABL4hvcycSzb0o/RYy91mRIyt+RY2srhCLJjnW6vaz22uhvbM9pby0wwR7IaF6NkwbqNAMZPcY3OFHidaE6BB+xLaf75ZH14
        iihhq8mxBSwTvKOz9gUh5J3o8028avJA/0urZL12SVLyxwIDAQABAoIBAATIvb8WuYDNtBxKhYeEoqoYkfHcBZiEDLohLhMgTY5tLiyd
        rAXxtFDqCMa7OpR5T3Eg1oo4MoBGVrIIajmJasEmitBhxruT8WQxCZhHek8aPCztR4pSAdNpA+9UOG0+y0q/QGZ/oysI41vNGQszXN3j
        eDOJxclhp7KpTba0wElHmfaE+qd3J+F4ga/V2BjfkDZmFKq2ZHyvHy/LcMmeRSl9iq6+xtIsYU5aVB0Bu1H1OkwAjX/bSxCUDea8eW0C
        2tlaMdh4QZJMR38WL+ZpbpA8hbEyCH+6iFYdOJQSo5hyzrDrHTdrrERAa7dKtXanb35kQxbLaBt+3U33S7hqtQECgYEA/kRCD7IEelIG
        LT1ke9lqohmDoaDTkfVEl0AQStrQnzn1ntFeIHUj51sGylXx706OBQfR28pPz5BmArbH5lRRtXNWyIsArOEkakI9QMI5fayOO7eE6WvI
        SMz0C1HhuVzBbMn0EetPxDv8Wa+qSLzFZABqqOgjA5MbJcf1PZfTTiECgYEA6bf4D+TTUB0R+xzo6cc/4zh6xvxhUNHES7+1Am1YrVos
        vUFuOWoVkFdf/tmpn+gIRRRw0opJlxOjbtSRCceKjb5s6GujFuta6cA87fid7APC2GTFu6q6nahfVO9ga/RWsXWVR6/N9xEThUpxs7+O
        koB0G0VuqIdsxOLsSvF7E+cCgYA35Tt8hc7UMQnokhFv5Hi7j85PDrLT6E4ezdeHDRlFl5E2S6JckkPFTU5t1nzr9aHk2zY4Ef5/i6fR
        Ousw6CJaODPAvEX2uzutHEio3smSpgdSe2J9idMqpduUTXjIrepbhv3fnpIXenRcJvDRMqZV+H16CiYAWCtkn9N6qdCq4QKBgAnNsrUP
        9yEsJv3uh4KO3gos61F/cqGOOvqmbvRMG+UhnDDQFsyHu6HTWG57ONdBR1+GbPkX3eBdbYSPnAnZ+eDaNP1Gzo9+jdCyRJwCyrUEr16e
        U4D8t1k3n9ATPmso054b/YgFQtFzQOtdZQmSJmvUwYoHTo35KEHV9u1p1azPAoGBAJXIgdT9TYzDj7elnv4M39ILbDcLKyOgA8jQ7bHh
        gu3jIpioPfD6IfdZVsIpPtVpe3YbJPtjGFJp7y8qlq8dPpfMSy4V9gmkoxkJGuQ3KE28ay7+aPT4YuzwAkOi1Cp5TDjqPKmgAV7VNXI/
        C7pG2uVT/6ggJdXKL2gZoKp9xij2
        """

    private static let secondText = """
        MIIEogIBAAKCAQEA0ET13kA+4sodYaHalz7IWxdKU6gZRONTnCO7tSl1nBY/rf0e8F1q2or5c+nsO0XDAtl8Y6WBaZVkFQV/7CmNt028
        jz/w1fQbt3YMSuo+NaaXCpwDjSmuHUl10ceyH3j/C5vAekGwSfbIUG3WNcLKqhghj1/sstmvmH2kwapLsXzml29XKN8DgVRshFRo1I93
        jVVh9kVCKzfzVIDJd3V83SkKiqDslX3D9hckB5vyqgr9xhQdSiI1DELHA8A9r7GV/YrjjuO/ak89PDEDM21zB0LxPYJdoZkYDpWprelR
        t5q6BDFmCdSi0TKaSJWOeSFnjNcbm/i0oRuTv2riK1a6lQIDAQABAoIBAAC8LD0gxKz5OHL0UkcLl/f1J425wz0EaD+04lkueEWBKPt3
        LN527xFzTNIs5y9gch9ViRrSFO2130lePsYmRs4lHVq7yuqb1LYBq/dlfXcDLSPEYCf8rP+vX3Na53PPLRV3vou1P7uW491KSsUkYYQ0
        dk2aikcY++GJKRANlaBvJcbUL1tuTbIC/2R5KTzxLLo992Z23IFGnboz2rRlRubWJuGuXbpDKtFrUfuVHSEbxnI8pFcM24qFcRYRT3FY
        rQnW0k8dppYJhW8AKzUT43jzl3wjLTBs5CO/SEs4z9iV2efcs79nRVtwydoTCprhD/7hrv/eAsqJqpvbydvnF4kCgYEA9fMSNrVzBSVe
        zyQoCDO9bCb7zlw/h8v3CLy+14Xg4FsQOWVNIhkMKtC2jKvBpC2qsTLCpD9s0rMWOYxj+IxS1ujm2iEy5TYgqSEmj8mO5y6hzMpUuJtP
        YRRNpJPIUH4CkYTGErrD5Y7o3eaqy00zE3oAa8ZFvKbiKa6SP0hO3FkCgYEA2Me1rvD90HKl0AWXlFO2QEqD8ezP+gfMHKX4YSAp6SBk
        fUzlteHzhUUmkLn4qixz+eTfyVckOxl1+lbNuZhqasOaeOZPiYUiiu3eZXZK4miuZRBKUm9vfkskMhebVdn1b4rp+uXYAxmH1sVKb22K
        16wXunhmEEelhm5tGC2zWJ0CgYA8SRht0Iwg9sgGfhZR7FzB5cxTCMmJv7UNrzYYHfjBBZE0gGAnu3wAAqi8Ul1koMz2IjsTh3hlLQCF
        mqPmiH7FrtDnJrwS8vGOg1GwbPdaM1P1nqKlnWwXn6JodNDk6f43LRRgAueBnUX3HlM/Ae1DGOSBhlgRpdZJ4UB3woGSAQKBgEy1xvXj
        830KxOAqymvDf6+abrxyN1pb3f+ZP55m+k2zl7u7NWI6VakoQjBejr7xQg0Az6v4uSpspRH0G5J8e9PR6dy0axrX0NRmvhcbV/5sWqIK
        tLIdGtAPGPzc26vyl+Zjus58/QaDx0zZvbBWjBYroK3sovlJ0SoT82jl6xwFAoGAWl/IpHbrCIbfyPlD6ByvVanJK971WkwJwkbwOyMd
        +4z/+4+OlKeMN5f+OH19XEZqx4+iOxd/gmmDpxhBfXr6a/Gx8wxi5Gzn/J67Lv0gmqc9FASTSU8AMKO9k6nXF/KH4uvMRHPIyKAKgCUG
        chvPnIJFlgEOPnEqEkx8LV1F2Jk=
        """

    private static let authorityText = """
        MIIEpAIBAAKCAQEArSxJ68Opmriy+b+9H1ihV1dlh/TeUgadXUXOy+0SQA7SUT28eB/a3GeXZCnT1VmziDVmedSTJ4qQy0u29UfhHHOZ
        zXGU1808owihBH0HTJfzb0VxbUlVLRl9fkl0ATGhAeRHDbNxElR98N+BDsZOOfsXZG4hoFwTshfky5bY7p1qZIfiq1kwcdN8Az8htw1J
        eYO9KRH6VMRuoI0tHQao9Fz42XH7KTFP7E11bPIEr6J0iA5T5cmgfdYxu+KAUxQLCOPfmL5s980FkyfyAHAUopIm+3hgHqibmVYz6UlQ
        8frKLful9GyB8FB6q3N5kFENBAyO/mdXWV+e2xJoX6j6sQIDAQABAoIBAAQ+rJBNyYMtK2Xu7l8tqhpVwd8lR3JDuXdR1hHZKEJ6KMC6
        08lnyu8nQR9rMpyJwT3zfZbllX3V+FqjXLT0QBnqqNTsJAr8X1sF7nVe0W1uGWvwmkWdhQEyq2yZtv9YfodpHqBPIJuHFVc3vDLKg9VC
        OpsBnIgRFi0sgFGsWZZFDkpH37fAIs8AQM2sdpc1Zkgr1iP5oAPsBPpeDDBdItw7E6hlme0bUPt+Mff+NpAd/bB+hhdDuvivvAmB1rTa
        awBhQU8X869rnruHZMuR/sqqds5HQtgNGbcATDPco/34d5ncVKYTz7nW03DDnliJyfsB+N7cTC5HShJRLIaJtekCgYEA5bJ/y7zGJTs3
        LJHQz8Xfqb3+LrCPaztGD7cd+5F8dRc6mhym8B57MB1FjCA/DcJaZNymqMSXhUbVUnGGJfpVS7H9w9Fb6NJ6QtcfKx8BJj/ATMwsX70H
        EDNDW9H85B6vGz3aBtC/W0ZtRWB3YKmgVGf43PkUDqFvHO2ijcuOXzcCgYEAwQDMmJpiwfmsPezkGMRh517TxPdBOUKRLFn0bz1ZdNdW
        KVkL+W9ekb6o17RuEZNZw1kkZZzHpyK9r1IQrUeaZslG8Qz7lqAIlOd3P7ugxTOgbeFFhOZeFbSVAdpTJDPLIcPpVxRyQVmNzP8RWF8b
        sRTXsJz9YijQZy7Amkd32VcCgYEAxXL7iBdt/PM6KoXuCaz+5tr7dQcxQexh/YBbtbUKV1zwcynOFvscye9fqWTOzvUS30ENwmW8GkUZ
        exU7S8o1KCyJB5sgdrL3hh2GHXs5cbe7hki8nE/Rkot+i5+m1DHMNI6mrNUkqUGRDOIvvFgUCnqV4t3579m1uhhMc7dXW2ECgYEAp4F5
        EGzVj4KQscIaiUBPtE4Bv63URsz2UCbWVYFKVXTay9ID6X1190ohIezvpoNbYYbJZwM16GHnfPTdknZVlCXWUzkwVZ8ZM5rcTU0bkGtp
        LlRYUKrbNz1eIZiJlh75ipmMt84AB6Wgwy0QscEBuKPdOuRVqU7A6PyTnpKuessCgYBpEQ5Tk6337bR4Y/1AjLXs+7g+0VtzhED8kmjm
        PfF1TTtefXx1tjG5Dy+d6dz8noUZnYHIbZJ9Dc18pu2rEOIZyDXM+NIdR682fXZiuFOR/F7EWRHtrH7z/AUcGluqv0FZEGtHyusVHqqQ
        Pqib540Fwnq/m9zUoxmQwBmZcAr8hA==
        """

    private static let largeText = """
        MIIG5AIBAAKCAYEAyBfpFNtTmdMqI5p0hPT8gvwJIMhALP3BvrzoUPXALatbY3ljVoyDgtwalhxBvy3JIp2iQA9S3yZKUPZFUzwHPA7G
        EVCZC4FQgMgE4LLHgNYyeSfrONE6vetfO4E/92oTSIjL8UGSiTnXEwhYXgyiBNwlElYIS66W1GFjtSp8gSHMQ83ffdKTMK/adLu0bteW
        X+MnU4YtwahjPd8xRf9sU7dq1CDrbZdzmP9LI2dreDcolquHf91twWqf8PlnasPNfr+MdVRpHFL4MkgZpaMW/0bgb0zlr6gY6i3YHb39
        tTR8xnzuJDr1I2Fn7HwBLORlrvka43x2gndyX+/Jqj+zeII70TjA7ipcYgeJnKteMgkMuP8wR/EnfWVE3mC9IxUHa+ObOUHbnr5uIUMk
        nxLEydhpCywIjiizQh4bz+T4HLKVU3YG0twxlR0aIMpvqbjpL98H7X6y57xgt2qS9Y4cI3LAJtG1246JL/K4LupgE5+osY4mCV7qBLA1
        E+irimy/AgMBAAECggGAAf8JvRgHvaf3f9MZfilq4CxUiPuxIYxx443DQZTaEyU7rFfjL6iyN9rV9xEWxNSs8N1NZ5c04Ui4AsEaOvTa
        hkpdcSxygm9gAWY9dOJuZBt+9b96Ch89l0nNsZceBMFi/4fB2nPS2u9Kn9l8TDU9uTpbB6j3vI2O2qqSvJV3wtq2oic1J25eN+T2kyXm
        QcQr2g627znjo07N7VRDNmq7HBtfLk5FGwWg9Ryi6sUBiPmqkX+U7VJ6YazHJg0kRNKUPzi7B/oDvQxYDbb/IS+r/xyAzL8mLRQQ1Hf9
        5aeQbPdDTM0levmBU5YWmddmxFT1mMOLKxI+ASRuor3t4j/I3SiatvKSq5MyldA02jzo+kr8ZwvsOP4xgEYvryESrQSVVS+Y2FuPgMcK
        GJuqPCLu1bGwuwTF0H5auP5+r9qCXafeJ4+jfdfSFJSJwgKkHrFOeuU9udtJebRnDZeonOf10X6GUHFTpQmbHUKukSRV7wY6tQMOnG5m
        IyGs++wHl8F1AoHBAPuX6KG4bAvlPVQSVGSWVSWrkBlkkz4I5gPVPkgOeapZHyjRnXZ5V8fCtAGehPNo1CVdvPwDEzI7b/9A4Z5sHE9w
        q9Di9r31moQWw8y2eSKN99tAQub051qVMDHAAhuKQGomPYAvE58u3J1EtGX7BiFgqWbT/Fa99+tjOeUp16dEmPdBwaupxkdJwU8D78Di
        hQQu/T17wxJCPwDgOjFLA4g8yh4Ex2SRDXpXtzEtejxFbL4/M3lJrRZQ7eJbHO5g9QKBwQDLmRY0bnxrbcFe4CZqCw3kopeQEh3CHlqP
        4t21h4wwC1r7AatWYkm6md2kx3OVqpS2g3HDKVqt95PD+ksZubRq2/i3l6cFxqwymBcDRpOKkXP/ObMB8KMkb6YBwHTHOoFnTkm0/8fu
        Yb4oiHOQRkigCjaFrBkIbn9MEsblG31RpJ0+l/YBKS7I+5uwJIxO3JaZjsdewy6dFAkMVat8c5/FCUUz8eXGDDyoswU8jW1Nd7RiVhPZ
        Gcd1Q8KOA/3CdmMCgcEA5RL4Th8TyXTs9RpHWtqCJm1iI6yuYAJMI9tJ/OOpJVBGDa1leJSdNxXxPbQui028M1V5F+BY3xi9LaTOiKcY
        07/bwLKWRHlWOcRcfIz8GFk4/pkxEQaVi6Vgnzua76ZeZgfxYT/71qkdV9hRhLUdbNCNDUIgdH49OEY9VYlWgEb2G9L0Wq+XCBuAdcg4
        yN+2iwuZqhyAjaRhpxOCCJWrXqUyxkhFoCxuICGze4RT0oLHsyTqYhmSDkqbfcjFu8ntAoHBAIXdJ75djqzLw0JwOpGqpv3W8bQmVS6W
        6pCEZ6W9c6z7KlyzIkZv5W4tUI/RG+wh9hlyn0/kVtzfVWaboNlPQpKoAwYjTgv8LqgtW6QpuUR4kj4TX+E8qOeCCTJJqf58Ny0HSmsZ
        agkQdwkLfoAz1fhz/pkxKFxk2onYJrHouyL9Cu5m17a3ry0yUZEk1qPbYaGhQPDLgFCDJdfYVCJFm5zflYKr35mx3ghFfIHtsxomRJIL
        ao1p57zwSnE5qpU7ZQKBwFKpYfoTslFfef7zmOgII2r4hw6DJdHGQJPiGrDPmK/63mRGJh2ZEBvrcG/ONuiQr4z7ia3Lw0bYOvpnJCc1
        aQGvURy0xJLTNLV3vpPK7yP7C6IGIA8eNQLeapyHaDch+DLsanfv9O6Yzr/yOoTM7WyBcOfrWgvV9DfShoyvMGdJ0P6IvtBbm6HC0Mk8
        pSSJ0QCd5kRRyBLORbrrfylCOHZvEO9h4sE6tI1/xlHit1ltipoX8u6sFelrXse1//CxVQ==
        """

    private static let smallExponentText = """
        MIIEowIBAAKCAQEA4k8TGsF1+PpjNyfxj1YE6lzlXUBNkSRBgIujzF3DZJjmQnAcH2jm9ZozH1m4c4nXMgDXgW+0PVrJESdClDnRglah
        QzFZS6GfW1wV7e5vOwE+CtktslyTSsq3UOdpEyTbCzUUf07xABqQe3loHgYf0BV/J1kYdwsgh7Ak8VGOUldFLs8DN5JW8TgBH/LWDSXF
        cPXe79nQbAWG9Kd11Tr4/2KhDW71BidzKSSQ3FdfBCUrpVtGiPu9l2r48aM/wVRBWPeSz3XsoYAPS9UiGpAz2qRiMTC22iIRj96ctR75
        JRwk4cB9EOm9kYsD/1TurnqWvNVFF3XGDcpJ7+2Dfs1EfwIBAwKCAQEAlt9iEdZOpfxCJMVLtOQDRuiY6NWJC22BAF0X3ZPXmGXu1vVo
        FPCZ+RF3ajvQTQaPdqs6Vkp4KOcwthosYtE2VuRrgiDmMmu/kj1j8/RKJ1YpXJDJIZMM3Ick4JpGDMM8siNi/4n2ABG1p6ZFaVlqirj/
        b5C6+gdrBSAYoOEJjDjtG5Qnsxy7ekmo2d+9uXMJh6dkIEsAPbDjLd1ZBeAy0mjFvoUA1Z13mrvQq64puHQ7LJ64MAcQKhYgrmzav8Xh
        opTum5nxEr6h+S97Co+tjoJywgRlYfvPGRc410ThqWEFNVXcl045lpNtfJyYGKTY5CN4Fqc9FcT8lVUaUtwL2wKBgQD2SvHqKFXV/8qP
        0cGVUrWKzR/r+m4HlKut6rhhQIQXmHNh6VddAQMo98oTRqJjDQ0rULlRWFXehqOACpY0J+oofJsub/6wziZvYt/lXlVVMViq5bbZvkgc
        OcHODd3+WEeNDP+PdrGQ0dqwhABLazxwzuj9me39rl6JKiHCoh+KMwKBgQDrOn7dgpFnuf70B2GkJEOsWFrcxPtIetCERSMPC+aVK1IW
        hlAWxLgWyUDElC+9YmmnkbPg6JtG0aZH4WnDecFGaHz+dhBSNzus8y4ELGNaU4gLKHNFCOA+sHn5ZFmoTsMQBMAit0LWXdMvQGm/Hkbg
        l7cTW4zsvsRF5cwZYGOohQKBgQCkMfacGuPj/9xf4Su44c5ciL/ypvQFDcfJRyWWKwK6ZaJBRjo+AKzF+oa3hGxCCLNyNdDg5Y6UWcJV
        XGQixUbFqGd0SqnLNBmflz/uPuOOIOXHQ8871DAS0Sves+lUOtpeCKpfpHZgi+cgWAAyR32gifCpEUlTyZRbcWvXFr+xdwKBgQCc0anp
        AbZFJqn4BOvCwtfIOuc92KeFpzWtg2y0spm4x4wPBDVkgyVkhistuB/TlvEaYSKV8GeEi8Qv65vXpoDZmv3++WA2z30d93QCyEI8N7AH
        cEzYsJV/IFFQ7ZEa3yy1WIAXJNc5k+IfgEZ/aYSVunoM57NIfy2D7ogQ6u0bAwKBgA6OH0IqCiN4m51F49UzA8jz620YatG+AgOserM9
        AbIu/bN1suctC8g4tdI3dq/jW5v8Tq2pP76uegeGwdU/XSqLltB3LUXVh6yh0aDYwpJyWf0FUPhGKOR2IIYA95rvKnrOtTAcVkUeXRZq
        FdUwe25uL5E/f4/eqqVA5FjCMFCx
        """
}
