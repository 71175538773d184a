const y = ;
